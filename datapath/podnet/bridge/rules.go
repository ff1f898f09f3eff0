package bridge

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Docker's chains. DOCKER exists in nat and in filter; DOCKER-USER is empty, for the rules of
// the host's owner; the others keep networks of one host apart, of which there is one here.
const (
	docker     = "DOCKER"
	user       = "DOCKER-USER"
	isolation1 = "DOCKER-ISOLATION-STAGE-1"
	isolation2 = "DOCKER-ISOLATION-STAGE-2"
)

// rules adds Docker's rules to a node, as dockerd of versions 20 to 26 writes them with
// userland-proxy off.
func rules(out *plan.Netns, lab *topology.Lab, n *topology.Node) {
	// With its userland proxy off, Docker lets 127.0.0.1 of the node reach containers.
	out.Sysctls = append(out.Sysctls, plan.Sysctl{Key: "net.ipv4.conf." + docker0 + ".route_localnet", Value: "1"})
	o := podnet.NodeOrigin(n)
	nat := iptables.Table{Name: "nat", Chains: natChains(n.PodCIDRs[0], o)}
	filter := iptables.Table{Name: "filter", Chains: filterChains(o)}
	for _, p := range podnet.Published(n, false) {
		publish(&nat, &filter, p)
	}
	podnet.CleanHostPorts(out, lab, n)
	out.Tables = append(out.Tables, nat, filter)
}

// rule is one rule of a node.
func rule(o plan.Origin, target iptables.Target, matches ...iptables.Match) iptables.Rule {
	return iptables.Rule{Matches: matches, Target: target, Origin: o}
}

// natChains are the chains of table nat without published ports.
func natChains(containers netip.Prefix, o plan.Origin) []iptables.Chain {
	toLocal := rule(o, iptables.Jump{Chain: docker}, iptables.AddrType{Dst: "LOCAL"})
	return []iptables.Chain{
		{Name: "PREROUTING", Policy: "ACCEPT", Rules: []iptables.Rule{toLocal}},
		{Name: "OUTPUT", Policy: "ACCEPT", Rules: []iptables.Rule{toLocal}},
		{Name: "POSTROUTING", Policy: "ACCEPT", Rules: []iptables.Rule{
			rule(o, iptables.Masquerade{}, iptables.OutIf{Name: docker0}, iptables.AddrType{Src: "LOCAL"}),
			rule(o, iptables.Masquerade{}, iptables.Src{Prefix: containers}, iptables.OutIf{Name: docker0, Not: true}),
		}},
		{Name: docker},
	}
}

// filterChains are the chains of table filter without published ports.
func filterChains(o plan.Origin) []iptables.Chain {
	in, out := iptables.InIf{Name: docker0}, iptables.OutIf{Name: docker0}
	notOut := iptables.OutIf{Name: docker0, Not: true}
	return []iptables.Chain{
		{Name: "FORWARD", Policy: "DROP", Rules: []iptables.Rule{
			rule(o, iptables.Jump{Chain: user}),
			rule(o, iptables.Jump{Chain: isolation1}),
			rule(o, iptables.Accept{}, out, iptables.CTState{States: []string{"RELATED", "ESTABLISHED"}}),
			rule(o, iptables.Jump{Chain: docker}, out),
			rule(o, iptables.Accept{}, in, notOut),
			rule(o, iptables.Accept{}, in, out),
		}},
		{Name: user, Rules: []iptables.Rule{rule(o, iptables.Return{})}},
		{Name: isolation1, Rules: []iptables.Rule{
			rule(o, iptables.Jump{Chain: isolation2}, in, notOut),
			rule(o, iptables.Return{}),
		}},
		{Name: isolation2, Rules: []iptables.Rule{
			rule(o, iptables.Drop{}, out),
			rule(o, iptables.Return{}),
		}},
		{Name: docker},
	}
}

// publish adds the rules of a published port: whatever address of the node it is dialed
// at, the container gets it, also from itself, and from other links nothing else.
func publish(nat, filter *iptables.Table, p podnet.PublishedPort) {
	o, self, protocol := podnet.PodOrigin(p.Pod), topology.Single(p.To.Addr()), iptables.Proto{Name: string(p.Port.Protocol)}
	to := []iptables.Match{protocol, iptables.DPort{Port: p.To.Port()}}
	add(nat, "POSTROUTING", rule(o, iptables.Masquerade{}, append([]iptables.Match{iptables.Src{Prefix: self}, iptables.Dst{Prefix: self}}, to...)...))
	add(nat, docker, rule(o, iptables.DNAT{To: p.To}, protocol, iptables.DPort{Port: p.Port.HostPort}))
	add(filter, docker, rule(o, iptables.Accept{}, append([]iptables.Match{
		iptables.Dst{Prefix: self}, iptables.InIf{Name: docker0, Not: true}, iptables.OutIf{Name: docker0}}, to...)...))
}

func add(t *iptables.Table, chain string, r iptables.Rule) {
	for i := range t.Chains {
		if t.Chains[i].Name == chain {
			t.Chains[i].Rules = append(t.Chains[i].Rules, r)
		}
	}
}
