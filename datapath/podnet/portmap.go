package podnet

import (
	"crypto/sha512"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// The CNI plugin portmap programs the host ports of pods: a node has its chains from the first
// pod on that publishes a port. CNI-HOSTPORT-DNAT leads to a chain per pod, which asks for
// masquerading where the pod could not answer through the node (from the addresses that
// share its link, and from 127.0.0.1), and translates.
const (
	hostPortDNAT = "CNI-HOSTPORT-DNAT"
	hostPortMark = "CNI-HOSTPORT-SETMARK"
	hostPortMasq = "CNI-HOSTPORT-MASQ"
	hostPortBit  = 0x2000
	mostPorts    = 15 // of a match multiport
)

// withHostPorts adds portmap's rules to those of a mode, whose masquerading they precede.
// device is the node's link to a pod.
func withHostPorts(nat func(*plan.Netns, *topology.Lab, *topology.Node), device func(*topology.Pod) string) func(*plan.Netns, *topology.Lab, *topology.Node) {
	return func(out *plan.Netns, lab *topology.Lab, n *topology.Node) {
		nat(out, lab, n)
		for i := range out.Tables {
			if t := &out.Tables[i]; t.Name == "nat" {
				portmap(t, lab, n)
			}
		}
		for _, p := range Published(n, false) {
			// Otherwise what the node sends from 127.0.0.1 could not leave by the link.
			s := plan.Sysctl{Key: "net.ipv4.conf." + device(p.Pod) + ".route_localnet", Value: "1"}
			if !hasSysctl(out, s) {
				out.Sysctls = append(out.Sysctls, s)
			}
		}
		CleanHostPorts(out, lab, n)
	}
}

func hasSysctl(out *plan.Netns, s plan.Sysctl) bool {
	for _, have := range out.Sysctls {
		if have == s {
			return true
		}
	}
	return false
}

// PublishedPort is a port of a pod that its node publishes, in one IP family.
type PublishedPort struct {
	Pod  *topology.Pod
	Port topology.Port
	To   netip.AddrPort // where the pod listens
}

// Published are the ports of a node's pods that it publishes.
func Published(n *topology.Node, ipv6 bool) (out []PublishedPort) {
	for _, pod := range n.Pods {
		for _, p := range pod.Ports {
			if a := topology.OfFamily(pod.Addrs, ipv6); p.HostPort != 0 && a.IsValid() {
				out = append(out, PublishedPort{pod, p, netip.AddrPortFrom(a, p.Number)})
			}
		}
	}
	return out
}

// CleanHostPorts has entries of connection tracking deleted that lead elsewhere than published
// ports of UDP do.
func CleanHostPorts(out *plan.Netns, lab *topology.Lab, n *topology.Node) {
	for _, ipv6 := range []bool{false, true} {
		for _, p := range Published(n, ipv6) {
			if p.Port.Protocol != topology.UDP {
				continue
			}
			s := conntrack.UDPService{IPv6: ipv6, Endpoints: []netip.AddrPort{p.To}, Origin: PodOrigin(p.Pod)}
			for _, a := range lab.Network.Own(n, ipv6) {
				s.To = append(s.To, netip.AddrPortFrom(a, p.Port.HostPort))
			}
			out.UDP = append(out.UDP, s)
		}
	}
}

// portmap adds the chains of a node's host ports to its table nat of one IP family.
func portmap(t *iptables.Table, lab *topology.Lab, n *topology.Node) {
	published := Published(n, t.IPv6)
	if len(published) == 0 {
		return
	}
	o := NodeOrigin(n)
	rule := func(o plan.Origin, target iptables.Target, matches ...iptables.Match) iptables.Rule {
		return iptables.Rule{Matches: matches, Target: target, Origin: o}
	}
	toLocal := rule(o, iptables.Jump{Chain: hostPortDNAT}, iptables.AddrType{Dst: "LOCAL"})
	first(t, "PREROUTING", toLocal)
	first(t, "OUTPUT", toLocal)
	first(t, "POSTROUTING", rule(o, iptables.Jump{Chain: hostPortMasq}, iptables.Comment{Text: "CNI portfwd requiring masquerade"}))
	t.Chains = append(t.Chains,
		iptables.Chain{Name: hostPortMark, Rules: []iptables.Rule{
			rule(o, iptables.SetMark{Value: hostPortBit, Mask: hostPortBit}, iptables.Comment{Text: "CNI portfwd masquerade mark"})}},
		iptables.Chain{Name: hostPortMasq, Rules: []iptables.Rule{
			rule(o, iptables.Masquerade{}, iptables.Mark{Value: hostPortBit, Mask: hostPortBit})}})
	entry := iptables.Chain{Name: hostPortDNAT}
	for len(published) > 0 {
		own := 1
		for own < len(published) && published[own].Pod == published[0].Pod {
			own++
		}
		chain := dnatChain(lab, published[:own])
		entry.Rules = append(entry.Rules, entryRules(lab, published[:own], chain.Name)...)
		t.Chains = append(t.Chains, chain)
		published = published[own:]
	}
	t.Chains = append(t.Chains, entry)
}

// first puts a rule at the head of a built-in chain, after those that stay ahead.
func first(t *iptables.Table, chain string, r iptables.Rule) {
	for i := range t.Chains {
		if c := &t.Chains[i]; c.Name == chain {
			c.Rules = slices.Insert(c.Rules, c.Ahead, r)
			return
		}
	}
	t.Chains = append(t.Chains, iptables.Chain{Name: chain, Policy: "ACCEPT", Rules: []iptables.Rule{r}})
}

// entryRules lead to the chain of a pod, per protocol.
func entryRules(lab *topology.Lab, ports []PublishedPort, chain string) (rules []iptables.Rule) {
	pod := ports[0].Pod
	for _, protocol := range []topology.Protocol{topology.TCP, topology.UDP, topology.SCTP} {
		var numbers []string
		for _, p := range ports {
			if p.Port.Protocol == protocol {
				numbers = append(numbers, strconv.Itoa(int(p.Port.HostPort)))
			}
		}
		for len(numbers) > 0 {
			some := numbers[:min(len(numbers), mostPorts)]
			numbers = numbers[len(some):]
			rules = append(rules, iptables.Rule{Matches: []iptables.Match{iptables.Proto{Name: string(protocol)},
				iptables.Comment{Text: fmt.Sprintf("dnat name: %q id: %q", lab.Network.Mode.Name, pod.AgentName())},
				iptables.MultiPort{Ports: strings.Join(some, ",")}}, Target: iptables.Jump{Chain: chain}, Origin: PodOrigin(pod)})
		}
	}
	return rules
}

// dnatChain is the chain of a pod. The plugin knows the pod's address with the prefix length
// that it has on the link: other pods of a bridge answer directly, bypassing the node.
func dnatChain(lab *topology.Lab, ports []PublishedPort) iptables.Chain {
	pod := ports[0].Pod
	sum := sha512.Sum512([]byte(lab.Network.Mode.Name + pod.Namespace + "/" + pod.Name))
	const longest = 28
	c := iptables.Chain{Name: ("CNI-DN-" + fmt.Sprintf("%x", sum))[:longest]}
	for _, p := range ports {
		neighbours := topology.Single(p.To.Addr())
		if !lab.Network.Mode.PodRoutes {
			neighbours = topology.PrefixOfFamily(pod.Node.PodCIDRs, p.To.Addr().Is6())
		}
		add := func(target iptables.Target, from ...iptables.Match) {
			to := []iptables.Match{iptables.Proto{Name: string(p.Port.Protocol)}, iptables.DPort{Port: p.Port.HostPort}}
			c.Rules = append(c.Rules, iptables.Rule{Matches: append(from, to...), Target: target, Origin: PodOrigin(pod)})
		}
		add(iptables.Jump{Chain: hostPortMark}, iptables.Src{Prefix: neighbours})
		if p.To.Addr().Is4() {
			add(iptables.Jump{Chain: hostPortMark}, iptables.Src{Prefix: netip.MustParsePrefix("127.0.0.1/32")})
		}
		add(iptables.DNAT{To: p.To})
	}
	return c
}
