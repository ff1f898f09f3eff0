package kuberouter

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Style is the policy style kube-router.
func Style() policy.Style {
	return policy.Style{Compile: compile, PolicyStyle: topology.PolicyStyle{Name: "kube-router", About: "a chain per pod and policy, sets per peer", Conforms: true}}
}

// The marks of a packet, while it passes the chains of one pod and after.
const (
	matched  = 0x10000 // some rule allows it
	complies = 0x20000 // a pod's chain let it pass
	passed   = 0x40000 // an Admin rule passed it to the network policies
)

// compile returns the table filter and the sets of each IP family.
func compile(v policy.View) (plan.Netns, error) {
	var out plan.Netns
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
	comment := iptables.Comment{Text: "kube-router netpol"}
	for _, h := range []struct{ from, to string }{{"INPUT", input}, {"FORWARD", forward}, {"OUTPUT", output}} {
		if h.to == input && !c.View.Options.HostEgress {
			continue
		}
		c.Hook(h.from, h.to, o, comment)
		switch {
		case h.to == input:
			prefix := ""
			if c.IPv6 {
				prefix = "inet6:"
			}
			c.SkipServed(input, prefix+servedAddrs, prefix+servedPorts, "allow traffic to services: their endpoints are asked about")
		case h.to == output && c.View.MarksBalanced():
			c.Add(output, o, setMark(policy.Balanced), iptables.Comment{Text: "rule to mark what IPVS sends"}, iptables.AddrType{Src: "LOCAL", NotSrc: true})
		}
	}
}

// common adds the chains that all pods share.
func (c *compiler) common() {
	o := c.View.Origin()
	c.Add(common, o, iptables.Drop{}, iptables.Comment{Text: "rule to drop invalid state for pod"}, policy.Invalid())
	c.Add(common, o, iptables.Accept{}, iptables.Comment{Text: "rule for stateful firewall for pod"}, policy.Established())
	if c.IPv6 {
		for _, t := range policy.NeighbourDiscovery() {
			c.Add(common, o, iptables.Accept{}, iptables.Comment{Text: "neighbour discovery"}, iptables.Proto{Name: "ipv6-icmp"}, t)
		}
	}
	c.Add(defaults, o, setMark(matched), iptables.Comment{Text: "rule to mark traffic matching a network policy"})
	if slices.ContainsFunc(c.View.Sections, func(s *policy.Section) bool { return s.Tier != "" }) {
		c.deny(deny, o, "denied by a cluster policy")
	}
}

// deny appends the rules that log and end a packet.
func (c *compiler) deny(chain string, o plan.Origin, comment string, matches ...iptables.Match) {
	said := append([]iptables.Match{iptables.Comment{Text: comment}}, matches...)
	c.Add(chain, o, iptables.NFLog{Group: 100}, append(slices.Clone(said), iptables.Limit{Rate: "10/min", Burst: 10})...)
	c.Deny(chain, o, said...)
}

func setMark(bit uint32) iptables.Target { return iptables.OrMark{Bits: bit} }

func clearMark(bit uint32) iptables.Target { return iptables.SetMark{Mask: bit} }

func marked(bits uint32) iptables.Match { return iptables.Mark{Value: bits, Mask: bits} }

// unmarked matches packets that have none of some bits.
func unmarked(bits uint32) iptables.Match { return iptables.Mark{Mask: bits} }
