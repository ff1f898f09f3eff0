package calico

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/felix"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Style is the policy style calico.
func Style() policy.Style {
	return policy.Style{Compile: compile, PolicyStyle: topology.PolicyStyle{Name: "calico", About: "chains per endpoint and policy, sets per selector", Conforms: true}}
}

// The marks of a packet while it passes the chain of one pod (felix reserves 0xffff0000
// and takes bits in this order). Of the two scratch bits, the first says that what a rule could
// not say in one matches, the second is for parts of that. Felix has no mark for deny: its
// policies drop by themselves.
const (
	accept   = 0x10000
	pass     = 0x20000
	scratch  = 0x40000
	scratch2 = 0x80000
	deny     = 0x100000
)

// Names of the chains that every node with policies has.
const (
	forward = "cali-FORWARD"
	input   = "cali-INPUT"
	output  = "cali-OUTPUT"
	from    = "cali-from-wl-dispatch"
	to      = "cali-to-wl-dispatch"
)

// compile returns the table filter and the sets of each IP family.
func compile(v policy.View) (plan.Netns, error) {
	var out plan.Netns
	for _, ipv6 := range v.Families() {
		c := &compiler{policy.NewFilter(&v, ipv6)}
		c.hooks()
		c.dispatch(from)
		c.dispatch(to)
		for _, p := range c.endpoints() {
			c.endpoint(p)
		}
		for _, s := range v.Sections {
			c.section(s)
		}
		for i := range c.Chains {
			felix.Sign(&c.Chains[i])
		}
		c.Finish(&out)
	}
	return out, nil
}

// compiler gathers the rules of one node and one IP family.
type compiler struct{ policy.Filter }

// endpoints are the pods that have chains: all of the node where links tell, since what comes by
// an unknown link is dropped, and otherwise those that policies apply to.
func (c *compiler) endpoints() (list []*policy.Pod) {
	known := map[*topology.Pod]*policy.Pod{}
	for i := range c.View.Pods {
		p := &c.View.Pods[i]
		known[p.Pod] = p
		list = append(list, p)
	}
	if !c.byLinks() {
		return list
	}
	list = nil
	for _, p := range c.View.Node.Pods {
		switch {
		case p.HostNetwork:
		case known[p] != nil:
			list = append(list, known[p])
		default:
			list = append(list, &policy.Pod{Pod: p})
		}
	}
	return list
}

// hooks leads packets to the two trees: those that are forwarded; with IPVS,
// those that leave by OUTPUT and are not the node's own; and those for the node, if
// policies apply there.
func (c *compiler) hooks() {
	o := c.View.Origin()
	c.Hook("FORWARD", forward, o)
	c.Add(forward, o, iptables.Jump{Chain: from}, c.workloads(from)...)
	c.Add(forward, o, iptables.Jump{Chain: to}, c.workloads(to)...)
	if c.View.Lab.Proxy.Mode.VirtualServers {
		c.Hook("OUTPUT", output, o)
		own := iptables.AddrType{Src: "LOCAL", NotSrc: true}
		if c.View.MarksBalanced() {
			c.Add(output, o, set(policy.Balanced), own, iptables.Comment{Text: "Sent by IPVS"})
		}
		c.Add(output, o, iptables.Jump{Chain: from}, own)
		c.Add(output, o, iptables.Jump{Chain: to}, own)
	}
	if tunnels := c.View.Lab.Network.Mode.Tunnel == topology.IPIPTunnel && !c.IPv6; tunnels || c.View.Options.HostEgress {
		c.Hook("INPUT", input, o)
		if tunnels {
			c.fromHosts(o)
		}
	}
	if c.View.Options.HostEgress {
		family := "4"
		if c.IPv6 {
			family = "6"
		}
		c.SkipServed(input, "cali"+family+"0s:services", "cali"+family+"0n:services", "Services: their endpoints are asked about")
		c.Add(input, o, iptables.Jump{Chain: from}, c.workloads(from)...)
	}
}

// fromHosts accepts what nodes send by their tunnels, and drops what others send in IP packets
// of this kind: whoever could would be a pod of any address.
func (c *compiler) fromHosts(o plan.Origin) {
	ipip := iptables.Proto{Name: iptables.IPIP}
	hosts := felix.HostsName(c.IPv6)
	is := iptables.Match(iptables.MatchSet{Set: hosts, Parts: "src"})
	if !c.View.Lab.Network.KeepSourceToNodes { // else the pod network has the set
		var all []netip.Addr
		for _, n := range c.View.Lab.Nodes {
			all = append(all, topology.OfFamily(n.Addrs, c.IPv6))
		}
		is = c.AddSet(hosts, ipset.HashNet, policy.Singles(all), "src", o)
	}
	c.Add(input, o, iptables.Accept{}, iptables.Comment{Text: "Allow IPIP packets from Calico hosts"}, ipip, is, iptables.AddrType{Dst: "LOCAL"})
	c.Add(input, o, iptables.Drop{}, iptables.Comment{Text: "Drop IPIP packets from non-Calico hosts"}, ipip)
}

func set(bit uint32) iptables.Target { return iptables.SetMark{Value: bit, Mask: bit} }

func clear(bits uint32) iptables.Target { return iptables.SetMark{Mask: bits} }

func has(bit uint32) iptables.Match { return iptables.Mark{Value: bit, Mask: bit} }

func lacks(bit uint32) iptables.Match { return iptables.Mark{Mask: bit} }
