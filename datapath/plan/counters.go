package plan

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// VirtualServers is the table of what IPVS has, beside those of the kernel's filters.
const VirtualServers = "ipvs"

// Counted is how many packets and bytes a rule has counted since it was created, or a virtual
// server or one of its real servers received.
type Counted struct {
	Netns   string
	Family  string // of nf_tables: ip, ip6 or inet
	IPv6    bool   // of iptables
	Table   string
	Chain   string
	Rule    string // as text: of IPVS in the words of ipvsadm
	Packets uint64
	Bytes   uint64
}

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
