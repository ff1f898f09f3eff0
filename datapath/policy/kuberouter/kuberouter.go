package kuberouter

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Style is the policy style kube-router.
type Style struct{}

var _ policy.Style = Style{}

// Name is kube-router.
func (Style) Name() string { return "kube-router" }

// The marks of a packet, while it passes the chains of one pod and after.
const (
	matched  = 0x10000 // some rule allows it
	complies = 0x20000 // a pod's chain let it pass
	passed   = 0x40000 // an Admin rule left it to the network policies
)

// Compile returns the table filter and the sets of each IP family.
func (Style) Compile(v policy.View) (plan.Netns, error) {
	var out plan.Netns
	if len(v.Pods) == 0 {
		return out, nil
	}
	for _, ipv6 := range v.Families() {
		c := &compiler{view: &v, ipv6: ipv6, table: plan.Table{Name: "filter", IPv6: ipv6}, index: map[string]int{}}
		c.top()
		c.common()
		for _, s := range v.Sections {
			c.section(s)
		}
		for i := range v.Pods {
			c.pod(&v.Pods[i])
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
	to := c.ensure(chain, "")
	to.Rules = append(to.Rules, plan.Rule{Matches: matches, Target: target, Origin: o})
}

// top hooks the chains of the node in.
func (c *compiler) top() {
	o := c.view.Origin()
	comment := plan.Comment{Text: "kube-router netpol"}
	for _, h := range []struct{ from, to string }{{"INPUT", input}, {"FORWARD", forward}, {"OUTPUT", output}} {
		if h.to == input && !c.view.Options.HostEgress {
			continue
		}
		hook := c.ensure(h.from, "ACCEPT")
		hook.Rules = append(hook.Rules, plan.Rule{Matches: []plan.Match{comment}, Target: plan.Jump{Chain: h.to}, Origin: o})
		c.ensure(h.to, "")
		switch {
		case h.to == input:
			c.served(o)
		case h.to == output && c.view.MarksBalanced():
			c.add(output, o, setMark(policy.Balanced), plan.Comment{Text: "rule to mark what IPVS sends"}, plan.AddrType{Src: "LOCAL", NotSrc: true})
		}
	}
}

// served leaves alone what is for services of IPVS.
func (c *compiler) served(o plan.Origin) {
	addrs, ports := servedAddrs, servedPorts
	if c.ipv6 {
		addrs, ports = "inet6:"+addrs, "inet6:"+ports
	}
	sets, matches := c.view.ServedSets(addrs, ports, c.ipv6)
	c.sets = append(c.sets, sets...)
	for _, m := range matches {
		c.add(input, o, plan.Return{}, plan.Comment{Text: "allow traffic to services: their endpoints are asked about"}, m)
	}
}

// common adds the chains that all pods share.
func (c *compiler) common() {
	o := c.view.Origin()
	c.add(common, o, plan.Drop{}, plan.Comment{Text: "rule to drop invalid state for pod"}, policy.Invalid())
	c.add(common, o, plan.Accept{}, plan.Comment{Text: "rule for stateful firewall for pod"}, policy.Established())
	if c.ipv6 {
		for _, t := range policy.NeighbourDiscovery() {
			c.add(common, o, plan.Accept{}, plan.Comment{Text: "neighbour discovery"}, plan.Proto{Name: "ipv6-icmp"}, t)
		}
	}
	c.add(defaults, o, setMark(matched), plan.Comment{Text: "rule to mark traffic matching a network policy"})
	if c.hasTiers() {
		c.deny(deny, o, "denied by a cluster policy")
	}
}

func (c *compiler) hasTiers() bool {
	for _, s := range c.view.Sections {
		if s.Tier != "" {
			return true
		}
	}
	return false
}

// deny appends what ends a packet, after a note of it.
func (c *compiler) deny(chain string, o plan.Origin, comment string, matches ...plan.Match) {
	said := append([]plan.Match{plan.Comment{Text: comment}}, matches...)
	limited := append(append([]plan.Match{}, said...), plan.Limit{Rate: "10/min", Burst: 10})
	c.add(chain, o, plan.NFLog{Group: 100}, limited...)
	for _, r := range c.view.Deny(c.ipv6) {
		all := append([]plan.Match{}, r.Matches...)
		c.add(chain, o, r.Target, append(all, said...)...)
	}
}

func setMark(bit uint32) plan.Target { return plan.OrMark{Bits: bit} }

func clearMark(bit uint32) plan.Target { return plan.SetMark{Mask: bit} }

func marked(bits uint32) plan.Match { return plan.Mark{Value: bits, Mask: bits} }

// unmarked matches packets that have none of some bits.
func unmarked(bits uint32) plan.Match { return plan.Mark{Mask: bits} }

// addressOf is a pod's address in the family of the compiler.
func (c *compiler) addressOf(p *topology.Pod) (netip.Prefix, bool) {
	for _, a := range p.Addrs {
		if a.Is6() == c.ipv6 {
			return netip.PrefixFrom(a, a.BitLen()), true
		}
	}
	return netip.Prefix{}, false
}
