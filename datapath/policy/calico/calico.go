package calico

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Style is the policy style calico.
type Style struct{}

var _ policy.Style = Style{}

// Name is calico.
func (Style) Name() string { return "calico" }

// Facts says that Calico's layout does all that the API requires.
func (Style) Facts() topology.StyleFacts {
	return topology.StyleFacts{About: "chains per endpoint and policy, sets per selector", Conforms: true}
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

// Compile returns the table filter and the sets of each IP family.
func (Style) Compile(v policy.View) (plan.Netns, error) {
	var out plan.Netns
	if len(v.Pods) == 0 {
		return out, nil
	}
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
	hook := func(builtin, chain string) {
		h := c.Ensure(builtin, "ACCEPT")
		h.Rules = append(h.Rules, iptables.Rule{Target: iptables.Jump{Chain: chain}, Origin: o})
		c.Ensure(chain, "")
	}
	hook("FORWARD", forward)
	c.Add(forward, o, iptables.Jump{Chain: from})
	c.Add(forward, o, iptables.Jump{Chain: to})
	if c.View.Lab.Proxy.Mode.VirtualServers {
		hook("OUTPUT", output)
		own := iptables.AddrType{Src: "LOCAL", NotSrc: true}
		if c.View.MarksBalanced() {
			c.Add(output, o, set(policy.Balanced), own, iptables.Comment{Text: "Sent by IPVS"})
		}
		c.Add(output, o, iptables.Jump{Chain: from}, own)
		c.Add(output, o, iptables.Jump{Chain: to}, own)
	}
	if c.View.Options.HostEgress {
		hook("INPUT", input)
		c.served(o)
		c.Add(input, o, iptables.Jump{Chain: from})
	}
}

// served skips what is for services of IPVS.
func (c *compiler) served(o plan.Origin) {
	addrs, ports := "cali40s:services", "cali40n:services"
	if c.IPv6 {
		addrs, ports = "cali60s:services", "cali60n:services"
	}
	sets, matches := c.View.ServedSets(addrs, ports, c.IPv6)
	c.Sets = append(c.Sets, sets...)
	for _, m := range matches {
		c.Add(input, o, iptables.Return{}, iptables.Comment{Text: "Services: their endpoints are asked about"}, m)
	}
}

func set(bit uint32) iptables.Target { return iptables.SetMark{Value: bit, Mask: bit} }

func clear(bits uint32) iptables.Target { return iptables.SetMark{Mask: bits} }

func has(bit uint32) iptables.Match { return iptables.Mark{Value: bit, Mask: bit} }

func lacks(bit uint32) iptables.Match { return iptables.Mark{Mask: bit} }

func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
