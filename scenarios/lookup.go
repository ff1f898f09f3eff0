package scenarios

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/topology"
)

// Dialer finds who a user means: web-0, pod/web-0, db/web-0, pod/db/web-0, pod.web-0,
// pod.web["0"], node1, node/node1, client.laptop. The error says what there is.
func Dialer(lab *topology.Lab, name string) (expect.Place, error) {
	var found, all []expect.Place
	add := func(p expect.Place, aliases ...string) {
		all = append(all, p)
		if slices.Contains(aliases, name) {
			found = append(found, p)
		}
	}
	for _, n := range lab.Nodes {
		add(expect.Place{Name: n.Name, Netns: n.Netns(), Addrs: n.Addrs}, aliases("node", n.Name)...)
	}
	for _, c := range lab.Clients {
		add(expect.Place{Name: c.Name, Netns: c.Netns(), Addrs: c.Addrs}, aliases("client", c.Name)...)
	}
	for _, p := range lab.Pods {
		add(expect.Place{Name: p.AgentName(), Netns: p.Netns(), Addrs: p.Addrs}, podAliases(p)...)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var names []string
	if len(found) > 1 {
		for _, p := range found {
			names = append(names, p.Netns)
		}
		return expect.Place{}, fmt.Errorf("%q can be several: say %s", name, strings.Join(names, " or "))
	}
	for _, p := range all {
		names = append(names, p.Name)
	}
	if near := topology.Nearest(name, names); near != "" {
		return expect.Place{}, fmt.Errorf("nothing in this lab is called %q; did you mean %s?", name, near)
	}
	return expect.Place{}, fmt.Errorf("nothing in this lab is called %q; there are %s", name, strings.Join(firstOf(names, 20), ", "))
}

func aliases(kind, name string) []string { return []string{name, kind + "/" + name, kind + "." + name} }

func podAliases(p *topology.Pod) []string {
	list := append(aliases("pod", p.Name), aliases("pod", p.AgentName())...)
	list = append(list, aliases("pod", p.Namespace+"/"+p.Name)...)
	list = append(list, "pod."+p.Namespace+"."+p.Name)
	if p.Key != "" {
		list = append(list, fmt.Sprintf("pod.%s[%q]", p.Block, p.Key), fmt.Sprintf("pod.%s[%s]", p.Block, p.Key))
	}
	return list
}

func firstOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", len(list)-n))
}

// Listener finds what a user wants to dial: "address:port", "name:port" or the name
// of a service, pod, node or client that has one port. The protocol is the one
// given, else that of the port, else tcp.
func Listener(lab *topology.Lab, name string, protocol topology.Protocol) (expect.Target, topology.Protocol, error) {
	host, port, hasPort := cutPort(name)
	if !hasPort {
		host = strings.Trim(name, "[]")
	}
	for _, prefix := range []string{"service/", "service.", "svc/", "pod/", "pod.", "node/", "node.", "client/", "client."} {
		host = strings.TrimPrefix(host, prefix)
	}
	if ns, rest, ok := strings.Cut(host, "/"); ok {
		host = rest + "." + ns
	}
	addr, err := netip.ParseAddr(host)
	at := answering{addrs: []netip.Addr{addr}}
	if err != nil {
		var known bool
		p := newPlaces(lab)
		if at, known = p.lookup(host); !known {
			if near := topology.Nearest(host, p.hosts()); near != "" {
				return expect.Target{}, "", fmt.Errorf("nothing in this lab is called %q; did you mean %s?", host, near)
			}
			return expect.Target{}, "", fmt.Errorf("nothing in this lab is called %q; write address:port or the name of a service", host)
		}
		switch {
		case len(at.addrs) > 0:
		case at.alias != "":
			return expect.Target{}, "", fmt.Errorf("%s is an alias of %q, which is no name of this lab", host, at.alias)
		default:
			return expect.Target{}, "", fmt.Errorf("%s is headless and has no ready endpoint, so its name has no address", host)
		}
	}
	number, of, err := portFor(name, port, protocol, at.ports)
	if err != nil {
		return expect.Target{}, "", err
	}
	target := expect.Target{Name: name}
	setAddrs(&target, at.addrs, number)
	if !hasPort {
		target.Name = fmt.Sprintf("%s:%d", name, number)
	}
	return target, of, nil
}

// portFor picks the port: the one that is written, by number or name, else the only
// one there is.
func portFor(name, port string, protocol topology.Protocol, ports []portOf) (uint16, topology.Protocol, error) {
	var fits []portOf
	var known []string
	for _, p := range ports {
		known = append(known, fmt.Sprintf("%d/%s", p.number, p.protocol))
		if (protocol == "" || p.protocol == protocol) && (port == "" || p.name == port || strconv.Itoa(int(p.number)) == port) {
			fits = append(fits, p)
		}
	}
	if len(fits) > 0 && (port != "" || len(fits) == 1) {
		return fits[0].number, fits[0].protocol, nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
		if protocol == "" {
			protocol = topology.TCP
		}
		return uint16(n), protocol, nil
	}
	if len(known) == 0 {
		return 0, "", fmt.Errorf("%q has no port; write %s:80", name, name)
	}
	return 0, "", fmt.Errorf("which port of %q? it has %s", name, strings.Join(known, ", "))
}
