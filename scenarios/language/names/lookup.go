package names

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/topology"
)

// Dialer finds the node, client, router or pod that a user means, as Lookup does.
func Dialer(lab *topology.Lab, name string) (expect.Place, error) {
	c, err := Lookup(name, All(lab))
	return expect.Place{Name: c.Display(), Netns: c.Netns, Addrs: c.Addrs}, err
}

// Listener finds what a user wants to dial: "address:port", "name:port" or the name
// of a service, pod, node, client or router that has one port. The protocol is the one
// given, else that of the port, else tcp.
func Listener(lab *topology.Lab, name string, protocol topology.Protocol) (expect.Target, topology.Protocol, error) {
	host, port, hasPort := CutPort(name)
	if !hasPort {
		host = name
		if strings.HasPrefix(name, "[") {
			host = strings.Trim(name, "[]")
		}
	}
	addr, err := netip.ParseAddr(host)
	at := Answer{Addrs: []netip.Addr{addr}}
	if err != nil {
		if at, err = New(lab).called(host, lab.Namespaces); err != nil {
			return expect.Target{}, "", err
		}
		switch {
		case len(at.Addrs) > 0:
		case at.Alias != "":
			return expect.Target{}, "", fmt.Errorf("%s is an alias of %q, which is not a name of this lab", host, at.Alias)
		default:
			return expect.Target{}, "", fmt.Errorf("%s is headless and has no ready endpoint, so its name has no address", host)
		}
	}
	number, of, err := portFor(name, port, protocol, at.Ports)
	if err != nil {
		return expect.Target{}, "", err
	}
	target := expect.Target{Name: name}
	SetAddrs(&target, at.Addrs, number)
	if !hasPort {
		target.Name = fmt.Sprintf("%s:%d", name, number)
	}
	return target, of, nil
}

// called finds what a user calls by an address in expressions, or by a name as in DNS. A plain
// name may be that of a service or pod in any namespace, if only one has it.
func (p *Places) called(name string, namespaces []*topology.Namespace) (Answer, error) {
	host := name
	for _, prefix := range []string{"service/", "service.", "svc/", "pod/", "pod.", "node/", "node.", "client/", "client.", "router/", "router."} {
		host = strings.TrimPrefix(host, prefix)
	}
	if ns, rest, ok := strings.Cut(host, "/"); ok {
		host = rest + "." + ns
	}
	if at, ok := p.Listener(p.addressed[name]); ok {
		return at, nil
	}
	var found []any
	var in []string
	for _, ns := range namespaces {
		for _, kind := range []string{"service", "pod"} {
			if o := p.objects[key{kind, ns.Name, host}]; o != nil {
				found, in = append(found, o), append(in, ns.Name+"/"+host)
				break // the service takes precedence, as in DNS
			}
		}
	}
	switch len(found) {
	case 0:
		at, ok := p.Lookup(host, topology.DefaultNamespace)
		if !ok {
			return at, unknownName(host, p.hosts(), "write address:port, or the name of a service, pod, node, client or router")
		}
		return at, nil
	case 1:
		at, _ := p.Listener(found[0])
		return at, nil
	}
	return Answer{}, &NameError{fmt.Sprintf("%q is ambiguous", name), "write one of: " + strings.Join(in, ", ")}
}

// portFor picks the port: the one that is written, by number or name, else the only
// one there is.
func portFor(name, port string, protocol topology.Protocol, ports []topology.Port) (uint16, topology.Protocol, error) {
	var known []string
	for _, p := range ports {
		text := fmt.Sprintf("%d/%s", p.Number, p.Protocol)
		if p.Name != "" {
			text += fmt.Sprintf(" %q", p.Name)
		}
		known = append(known, text)
	}
	if fits := Fitting(ports, port, protocol); len(fits) > 0 && (port != "" || len(fits) == 1) {
		return fits[0].Number, fits[0].Protocol, nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
		if protocol == "" {
			protocol = topology.TCP
		}
		return uint16(n), protocol, nil
	}
	switch {
	case len(known) > 0:
		return 0, "", fmt.Errorf("which port of %q? it has %s", name, strings.Join(known, ", "))
	case port != "":
		return 0, "", fmt.Errorf("%q: %q is not a port number; write one from 1 to 65535", name, port)
	default:
		return 0, "", fmt.Errorf("%q has no port; write %s:80", name, name)
	}
}

// Fitting are the ports with a name or number, and a protocol, as far as these are given.
func Fitting(ports []topology.Port, port string, protocol topology.Protocol) []topology.Port {
	return slices.DeleteFunc(slices.Clone(ports), func(p topology.Port) bool {
		return port != "" && p.Name != port && strconv.Itoa(int(p.Number)) != port || protocol != "" && p.Protocol != protocol
	})
}

// SetAddrs sets the addresses of a target: several addresses where its name has several.
func SetAddrs(t *expect.Target, addrs []netip.Addr, port uint16) {
	t.Addr = netip.AddrPortFrom(addrs[0], port)
	for _, a := range addrs[1:] {
		t.Also = append(t.Also, netip.AddrPortFrom(a, port))
	}
}

// WithPort is an address or name with a port; an IPv6 address is in brackets.
func WithPort(host, port string) string { return net.JoinHostPort(host, port) }

// CutPort cuts the port off an address or name; an IPv6 address must be in brackets.
func CutPort(s string) (host, port string, ok bool) {
	if rest, found := strings.CutPrefix(s, "["); found {
		host, port, ok = strings.Cut(rest, "]:")
		return host, port, ok
	}
	if strings.Count(s, ":") != 1 {
		return "", "", false
	}
	host, port, _ = strings.Cut(s, ":")
	return host, port, true
}
