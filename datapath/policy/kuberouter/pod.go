package kuberouter

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/policy"
)

// pod adds the firewall chain of a pod and the jumps to it.
func (c *compiler) pod(p *policy.Pod) {
	own, ok := c.Address(p.Pod)
	if !ok {
		return
	}
	name := p.Namespace + "/" + p.Name
	o := plan.Origin{Object: "pod " + p.AgentName(), File: p.Origin.File, Line: p.Origin.Line}
	chain := podChain(p.Pod)
	to, from := plan.Dst{Prefix: own}, plan.Src{Prefix: own}
	c.jumps(chain, o, to, from, policy.Comment("rule to jump traffic of pod "+name))

	c.Add(chain, o, plan.Jump{Chain: common}, plan.Comment{Text: "rule for all pods"})
	c.Add(chain, o, plan.Return{}, to, plan.Comment{Text: "rule to permit the traffic from the pod's own node"}, plan.AddrType{Src: "LOCAL"})
	// What comes back through a service has the pod's own address until POSTROUTING.
	c.Add(chain, o, plan.Return{}, from, to, plan.Comment{Text: "rule to permit a pod to reach itself"})
	c.side(chain, o, &p.Ingress, to)
	c.side(chain, o, &p.Egress, from)
	c.deny(chain, o, "denied by the policies of pod "+name, plan.Mark{Value: matched, Mask: matched, Not: true})
	c.Add(chain, o, clearMark(matched))
	c.Add(chain, o, setMark(complies), plan.Comment{Text: "mark of traffic that complies with network policies"})
}

// jumps leads packets of a pod to its chain. Packets from a pod to another of its node
// are bridged; the rules that ask for that see nothing that the others would not, and
// are there as in kube-router.
func (c *compiler) jumps(chain string, o plan.Origin, to, from, comment plan.Match) {
	bridged := plan.Physdev{Bridged: true}
	jump := func(top string, matches ...plan.Match) { c.Add(top, o, plan.Jump{Chain: chain}, matches...) }
	jump(forward, to, comment)
	jump(output, to, comment)
	jump(forward, to, bridged, comment)
	if c.View.Options.HostEgress {
		jump(input, from, comment)
	}
	jump(forward, from, comment)
	jump(output, from, comment)
	jump(forward, from, bridged, comment)
}

// side asks what decides about one direction of a pod; about matches the packets
// of it.
func (c *compiler) side(chain string, o plan.Origin, s *policy.Side, about plan.Match) {
	ask := func(section *policy.Section, matches ...plan.Match) {
		all := append([]plan.Match{about, policy.Comment("rule to run through " + section.Title())}, matches...)
		c.Add(chain, section.Origin, plan.Jump{Chain: sectionChain(section)}, all...)
	}
	for _, section := range s.Admin {
		ask(section, unmarked(matched|passed))
	}
	var undecided []plan.Match
	if len(s.Admin) > 0 {
		c.Add(chain, o, clearMark(passed))
		undecided = []plan.Match{unmarked(matched)}
	}
	for _, section := range s.Network {
		ask(section, undecided...)
	}
	if s.Isolated() {
		return
	}
	for _, section := range s.Baseline {
		ask(section, unmarked(matched))
	}
	c.Add(chain, o, plan.Jump{Chain: defaults}, about, plan.Comment{Text: "rule for a direction without network policies"})
}
