package calico

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Style is the policy style calico.
type Style struct{}

var _ policy.Style = Style{}

// Name is calico.
func (Style) Name() string { return "calico" }

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
		c := &compiler{view: &v, ipv6: ipv6, table: plan.Table{Name: "filter", IPv6: ipv6}, index: map[string]int{}}
		c.hooks()
		c.dispatch(from)
		c.dispatch(to)
		for i := range v.Pods {
			c.endpoint(&v.Pods[i])
		}
		for _, s := range v.Sections {
			c.section(s)
		}
		out.Tables = append(out.Tables, c.table)
		out.Sets = append(out.Sets, c.sets...)
	}
	return out, nil
}

// compiler gathers the rules of one node and one IP family.
type compiler struct {
	view  *policy.View
	ipv6  bool
	table plan.Table
	index map[string]int // of chains
	sets  []plan.Set
}

// ensure makes sure that a chain is there.
func (c *compiler) ensure(name, builtin string) *plan.Chain {
	i, ok := c.index[name]
	if !ok {
		i = len(c.table.Chains)
		c.index[name] = i
		c.table.Chains = append(c.table.Chains, plan.Chain{Name: name, Policy: builtin})
	}
	return &c.table.Chains[i]
}

// add appends a rule to a chain.
func (c *compiler) add(chain string, o plan.Origin, target plan.Target, matches ...plan.Match) {
	in := c.ensure(chain, "")
	in.Rules = append(in.Rules, plan.Rule{Matches: matches, Target: target, Origin: o})
}

// hooks leads packets to the two trees: those that are forwarded; where IPVS sends them,
// those that leave by OUTPUT and are not the node's own; and those for the node, if
// policies hold there.
func (c *compiler) hooks() {
	o := c.view.Origin()
	hook := func(builtin, chain string) {
		h := c.ensure(builtin, "ACCEPT")
		h.Rules = append(h.Rules, plan.Rule{Target: plan.Jump{Chain: chain}, Origin: o})
		c.ensure(chain, "")
	}
	hook("FORWARD", forward)
	c.add(forward, o, plan.Jump{Chain: from})
	c.add(forward, o, plan.Jump{Chain: to})
	if c.view.Lab.Proxy.Mode == "ipvs" {
		hook("OUTPUT", output)
		own := plan.AddrType{Src: "LOCAL", NotSrc: true}
		if c.view.MarksBalanced() {
			c.add(output, o, set(policy.Balanced), own, plan.Comment{Text: "Sent by IPVS"})
		}
		c.add(output, o, plan.Jump{Chain: from}, own)
		c.add(output, o, plan.Jump{Chain: to}, own)
	}
	if c.view.Options.HostEgress {
		hook("INPUT", input)
		c.served(o)
		c.add(input, o, plan.Jump{Chain: from})
	}
}

// served leaves alone what is for services of IPVS.
func (c *compiler) served(o plan.Origin) {
	addrs, ports := "cali40s:services", "cali40n:services"
	if c.ipv6 {
		addrs, ports = "cali60s:services", "cali60n:services"
	}
	sets, matches := c.view.ServedSets(addrs, ports, c.ipv6)
	c.sets = append(c.sets, sets...)
	for _, m := range matches {
		c.add(input, o, plan.Return{}, plan.Comment{Text: "Services: their endpoints are asked about"}, m)
	}
}

func set(bit uint32) plan.Target { return plan.SetMark{Value: bit, Mask: bit} }

func clear(bits uint32) plan.Target { return plan.SetMark{Mask: bits} }

func has(bit uint32) plan.Match { return plan.Mark{Value: bit, Mask: bit} }

func lacks(bit uint32) plan.Match { return plan.Mark{Mask: bit} }

// addressOf is a pod's address in the family of the compiler.
func (c *compiler) addressOf(p *topology.Pod) (netip.Addr, bool) {
	for _, a := range p.Addrs {
		if a.Is6() == c.ipv6 {
			return a, true
		}
	}
	return netip.Addr{}, false
}

func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
