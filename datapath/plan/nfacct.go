package plan

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// Counts reports whether rules of the plan count in accounting objects (iptables.NFAcct).
func (p *Plan) Counts() bool {
	return slices.ContainsFunc(p.Netns, func(n Netns) bool { return iptables.Counts(n.Tables) })
}

// Uncount makes the plan what it is on a kernel without such objects. Lists that it may share
// with another plan stay as they are.
func (p *Plan) Uncount() {
	p.Netns = slices.Clone(p.Netns)
	for i := range p.Netns {
		if n := &p.Netns[i]; iptables.Counts(n.Tables) {
			n.Tables = iptables.Uncounted(n.Tables)
		}
	}
}
