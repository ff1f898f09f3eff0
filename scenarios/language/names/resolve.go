package names

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan/zone"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/dns"
)

// From resolves a name as a program of a node, client, router or pod does; false: there is no
// such name. In a lab with a name service, pods ask that, and the lookup says how; all others
// know only nodes, clients and routers. Without one, all know all names (Lookup).
func (p *Places) From(host string, from any) (at Answer, how *flow.Lookup, ok bool) {
	pod, _ := from.(*topology.Pod)
	if p.lab.DNS == nil {
		ns := topology.DefaultNamespace
		if pod != nil {
			ns = pod.Namespace
		}
		at, ok = p.Lookup(host, ns)
		return at, nil, ok
	}
	var resolver zone.Resolver
	asks := false
	if pod != nil {
		resolver, asks = dns.Of(p.lab, pod)
	}
	if !asks {
		at, ok = p.outside(host)
		return at, nil, ok
	}
	how = &flow.Lookup{Names: resolver.Candidates(host)}
	for _, s := range resolver.Servers {
		how.Servers = append(how.Servers, netip.AddrPortFrom(s, topology.DNSPort))
	}
	for _, name := range how.Names {
		for _, of := range p.types() {
			answer := p.index().Answer(name, of)
			addrs := addressesOf(answer.Values(of))
			if len(addrs) == 0 {
				continue
			}
			at, _ = p.named(answer.Records[0].Name)
			at.Addrs, how.IPv6 = addrs, of == zone.AAAA
			return at, how, true
		}
	}
	how.IPv6 = p.types()[0] == zone.AAAA
	return at, how, false
}

// Asks is how a dialer, as a user calls it, looks up what the user calls by a name, with a port or
// without, if it then finds an address; nil: it does not ask, or finds another one.
func Asks(lab *topology.Lab, dialer, name string, addr netip.Addr) *flow.Lookup {
	host, _, hasPort := CutPort(name)
	if !hasPort {
		host = name
	}
	c, err := Lookup(dialer, All(lab))
	i := slices.IndexFunc(lab.Pods, func(p *topology.Pod) bool { return c.Kind == "pod" && p.Name == c.Name && p.Namespace == c.Namespace })
	if err != nil || i < 0 || lab.DNS == nil {
		return nil
	}
	at, how, ok := New(lab).From(host, lab.Pods[i])
	if !ok || !slices.Contains(at.Addrs, addr) {
		return nil
	}
	return how
}

// types are those of addresses, that of the first family of the lab first.
func (p *Places) types() []zone.Type {
	if s := p.lab.DNS.Servers; len(s) > 0 && s[0].Is6() {
		return []zone.Type{zone.AAAA, zone.A}
	}
	return []zone.Type{zone.A, zone.AAAA}
}

func addressesOf(texts []string) (addrs []netip.Addr) {
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			addrs = append(addrs, a)
		}
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return addrs
}

// outside finds a node, client or router.
func (p *Places) outside(host string) (Answer, bool) {
	for _, kind := range []string{"node", "client", "router"} {
		if o := p.objects[key{kind, "", strings.ToLower(strings.TrimSuffix(host, "."))}]; o != nil {
			return p.Listener(o)
		}
	}
	return p.ingress(host)
}

// named is the object that a full name belongs to: a service, also for the name of one of its
// endpoints, or what is outside.
func (p *Places) named(full string) (Answer, bool) {
	rest, inside := strings.CutSuffix(full, ".svc."+p.lab.Domain())
	if !inside {
		return p.outside(full)
	}
	labels := strings.Split(rest, ".")
	if len(labels) < 2 {
		return Answer{}, false
	}
	labels = labels[len(labels)-2:]
	return p.Listener(p.objects[key{"service", labels[1], labels[0]}])
}
