package calico

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/felix"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Style is the policy style calico.
func Style() policy.Style {
	return policy.Style{Compile: compile, PolicyStyle: topology.PolicyStyle{Name: "calico", About: "chains per endpoint and policy, sets per selector", Conforms: true}}
}

// The marks of a packet while it passes the chain of one pod (felix reserves 0xffff0000
// and takes bits in this order).
const (
	accept = 0x10000
	pass   = 0x20000
	deny   = 0x40000
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
		for i := range v.Pods {
			c.endpoint(&v.Pods[i])
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
	if c.View.Options.HostEgress {
		c.Hook("INPUT", input, o)
		family := "4"
		if c.IPv6 {
			family = "6"
		}
		c.SkipServed(input, "cali"+family+"0s:services", "cali"+family+"0n:services", "Services: their endpoints are asked about")
		c.Add(input, o, iptables.Jump{Chain: from}, c.workloads(from)...)
	}
}

func set(bit uint32) iptables.Target { return iptables.SetMark{Value: bit, Mask: bit} }

func clear(bits uint32) iptables.Target { return iptables.SetMark{Mask: bits} }

func has(bit uint32) iptables.Match { return iptables.Mark{Value: bit, Mask: bit} }

func lacks(bit uint32) iptables.Match { return iptables.Mark{Mask: bit} }
