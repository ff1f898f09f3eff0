package kuberouter

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
)

// pod adds the firewall chain of a pod and the jumps to it.
func (c *compiler) pod(p *policy.Pod) {
	own, ok := c.Address(p.Pod)
	if !ok {
		return
	}
	name := p.Namespace + "/" + p.Name
	o := policy.PodOrigin(p.Pod)
	chain := podChain(p.Pod)
	to, from := iptables.Dst{Prefix: own}, iptables.Src{Prefix: own}
	c.jumps(chain, o, to, from, policy.Comment("rule to jump traffic of pod "+name))

	c.Add(chain, o, iptables.Jump{Chain: common}, iptables.Comment{Text: "rule for all pods"})
	c.Add(chain, o, iptables.Return{}, to, iptables.Comment{Text: "rule to permit the traffic from the pod's own node"}, iptables.AddrType{Src: "LOCAL"})
	// What comes back through a service has the pod's own address until POSTROUTING.
	c.Add(chain, o, iptables.Return{}, from, to, iptables.Comment{Text: "rule to permit a pod to reach itself"})
	c.side(chain, o, &p.Ingress, to)
	c.side(chain, o, &p.Egress, from)
	c.deny(chain, o, "denied by the policies of pod "+name, iptables.Mark{Value: matched, Mask: matched, Not: true})
	c.Add(chain, o, clearMark(matched))
	c.Add(chain, o, setMark(complies), iptables.Comment{Text: "mark of traffic that complies with network policies"})
}

// jumps leads packets of a pod to its chain. Packets from a pod to another of its node
// are bridged; the rules that match that see nothing that the others would not, and
// are there as in kube-router.
func (c *compiler) jumps(chain string, o plan.Origin, to, from, comment iptables.Match) {
	bridged := iptables.Physdev{Bridged: true}
	jump := func(top string, matches ...iptables.Match) { c.Add(top, o, iptables.Jump{Chain: chain}, matches...) }
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

// side jumps to the policies of one direction of a pod; about matches its packets.
func (c *compiler) side(chain string, o plan.Origin, s *policy.Side, about iptables.Match) {
	ask := func(section *policy.Section, matches ...iptables.Match) {
		all := append([]iptables.Match{about, policy.Comment("rule to run through " + section.Title())}, matches...)
		c.Add(chain, section.Origin, iptables.Jump{Chain: sectionChain(section)}, all...)
	}
	for _, section := range s.Admin {
		ask(section, unmarked(matched|passed))
	}
	var undecided []iptables.Match
	if len(s.Admin) > 0 {
		c.Add(chain, o, clearMark(passed))
		undecided = []iptables.Match{unmarked(matched)}
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
	c.Add(chain, o, iptables.Jump{Chain: defaults}, about, iptables.Comment{Text: "rule for a direction without network policies"})
}
