package kuberouter

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/policy"
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
		c := &compiler{policy.NewFilter(&v, ipv6)}
		c.top()
		c.common()
		for _, s := range v.Sections {
			c.section(s)
		}
		for i := range v.Pods {
			c.pod(&v.Pods[i])
		}
		c.Finish(&out)
	}
	return out, nil
}

// compiler gathers the rules of one node and one IP family.
type compiler struct{ policy.Filter }

// top hooks the chains of the node in.
func (c *compiler) top() {
	o := c.View.Origin()
	comment := plan.Comment{Text: "kube-router netpol"}
	for _, h := range []struct{ from, to string }{{"INPUT", input}, {"FORWARD", forward}, {"OUTPUT", output}} {
		if h.to == input && !c.View.Options.HostEgress {
			continue
		}
		hook := c.Ensure(h.from, "ACCEPT")
		hook.Rules = append(hook.Rules, plan.Rule{Matches: []plan.Match{comment}, Target: plan.Jump{Chain: h.to}, Origin: o})
		c.Ensure(h.to, "")
		switch {
		case h.to == input:
			c.served(o)
		case h.to == output && c.View.MarksBalanced():
			c.Add(output, o, setMark(policy.Balanced), plan.Comment{Text: "rule to mark what IPVS sends"}, plan.AddrType{Src: "LOCAL", NotSrc: true})
		}
	}
}

// served leaves alone what is for services of IPVS.
func (c *compiler) served(o plan.Origin) {
	addrs, ports := servedAddrs, servedPorts
	if c.IPv6 {
		addrs, ports = "inet6:"+addrs, "inet6:"+ports
	}
	sets, matches := c.View.ServedSets(addrs, ports, c.IPv6)
	c.Sets = append(c.Sets, sets...)
	for _, m := range matches {
		c.Add(input, o, plan.Return{}, plan.Comment{Text: "allow traffic to services: their endpoints are asked about"}, m)
	}
}

// common adds the chains that all pods share.
func (c *compiler) common() {
	o := c.View.Origin()
	c.Add(common, o, plan.Drop{}, plan.Comment{Text: "rule to drop invalid state for pod"}, policy.Invalid())
	c.Add(common, o, plan.Accept{}, plan.Comment{Text: "rule for stateful firewall for pod"}, policy.Established())
	if c.IPv6 {
		for _, t := range policy.NeighbourDiscovery() {
			c.Add(common, o, plan.Accept{}, plan.Comment{Text: "neighbour discovery"}, plan.Proto{Name: "ipv6-icmp"}, t)
		}
	}
	c.Add(defaults, o, setMark(matched), plan.Comment{Text: "rule to mark traffic matching a network policy"})
	if c.hasTiers() {
		c.deny(deny, o, "denied by a cluster policy")
	}
}

func (c *compiler) hasTiers() bool {
	for _, s := range c.View.Sections {
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
	c.Add(chain, o, plan.NFLog{Group: 100}, limited...)
	for _, r := range c.View.Deny(c.IPv6) {
		all := append([]plan.Match{}, r.Matches...)
		c.Add(chain, o, r.Target, append(all, said...)...)
	}
}

func setMark(bit uint32) plan.Target { return plan.OrMark{Bits: bit} }

func clearMark(bit uint32) plan.Target { return plan.SetMark{Mask: bit} }

func marked(bits uint32) plan.Match { return plan.Mark{Value: bits, Mask: bits} }

// unmarked matches packets that have none of some bits.
func unmarked(bits uint32) plan.Match { return plan.Mark{Mask: bits} }
