package bridge

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// rules adds Docker's rules to a node, as dockerd of versions 20 to 26 writes them with
// userland-proxy off.
func rules(out *plan.Netns, lab *topology.Lab, n *topology.Node) {
	// With its userland proxy off, Docker lets 127.0.0.1 of the node reach containers.
	out.Sysctls = append(out.Sysctls, plan.Sysctl{Key: "net.ipv4.conf." + podnet.Docker0 + ".route_localnet", Value: "1"})
	daemon := podnet.Docker{Containers: n.PodCIDRs[0], Forwarding: true, Origin: podnet.NodeOrigin(n)}
	nat, filter := daemon.NAT(), daemon.Filter()
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

// publish adds the rules of a published port: whatever address of the node it is dialed
// at, the container gets it, also from itself, and from other links nothing else.
func publish(nat, filter *iptables.Table, p podnet.PublishedPort) {
	o, self, protocol := podnet.PodOrigin(p.Pod), topology.Single(p.To.Addr()), iptables.Proto{Name: string(p.Port.Protocol)}
	to := []iptables.Match{protocol, iptables.DPort{Port: p.To.Port()}}
	add(nat, "POSTROUTING", rule(o, iptables.Masquerade{}, append([]iptables.Match{iptables.Src{Prefix: self}, iptables.Dst{Prefix: self}}, to...)...))
	add(nat, podnet.DockerChain, rule(o, iptables.DNAT{To: p.To}, protocol, iptables.DPort{Port: p.Port.HostPort}))
	add(filter, podnet.DockerChain, rule(o, iptables.Accept{}, append([]iptables.Match{
		iptables.Dst{Prefix: self}, iptables.InIf{Name: podnet.Docker0, Not: true}, iptables.OutIf{Name: podnet.Docker0}}, to...)...))
}

func add(t *iptables.Table, chain string, r iptables.Rule) {
	for i := range t.Chains {
		if t.Chains[i].Name == chain {
			t.Chains[i].Rules = append(t.Chains[i].Rules, r)
		}
	}
}
