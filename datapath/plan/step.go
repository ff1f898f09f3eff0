package plan

import (
	"strings"

	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Step is one operation in one network namespace. An ordered list of steps is all that
// it takes to build a lab, or to turn one lab into another: this package prints it as
// commands, package kernel carries it out.
type Step struct {
	Netns string
	Verb  Verb
	Item  Item
}

// Verb says what a step does with its item.
type Verb uint8

// The verbs of steps.
const (
	Add Verb = iota
	Change
	Delete
)

// Item is what a step acts on: a pointer to a Netns, Pair, Link, LinkChange, Addr,
// Neigh, FDB, Route, Qdisc, XfrmState, XfrmPolicy or Deviation of the plan; or Sysctls, SetCommands, TableEdits, NFTEdits,
// VirtualCommands, Occupants, Conntrack, Removal or RulesInForce.
type Item interface {
	// write writes the step as the commands that do the same.
	write(w *textWriter, s *Step)
}

// Pair is a veth pair: both ends are created by one operation, in the namespace of
// Link, and set up.
type Pair struct {
	Link *Link // in the namespace of the step
	Peer *Link // in that of Link.Peer; nil: not in the plan
}

// LinkChange gives an existing link the attributes of Link and sets it up.
type LinkChange struct {
	Link *Link
	// Release detaches the link from its bridge, if it has one.
	Release bool
}

// Sysctls are settings written together.
type Sysctls []Sysctl

// SetCommands are the operations on the sets of a namespace, in order.
type SetCommands []ipset.Command

// VirtualCommands are the operations on the virtual servers of a namespace, in order.
type VirtualCommands []ipvs.Command

// TableEdits are the changes to the iptables rules of a namespace: one restore per IP
// family.
type TableEdits []iptables.Edit

// NFTEdits are the changes to the nf_tables tables of a namespace, in one transaction.
type NFTEdits []nft.Edit

// Conntrack ends connections that new rules would treat differently: stale UDP entries,
// and what policies now deny. A new namespace has none.
type Conntrack struct {
	UDP []conntrack.UDPService
	Cut []conntrack.Cut
}

// Removal removes the namespace with everything in it.
type Removal struct {
	// Ends are the veth ends in other namespaces that disappear with it. The kernel
	// removes them a little later.
	Ends []Peer
}

// RulesInForce marks where all rules of the steps before it must be in force. Between
// two such marks, rules of several namespaces may be loaded in parallel.
type RulesInForce struct{}

// linkOf is the link that a setting belongs to, as in net.ipv4.conf.eth0.rp_filter;
// empty: none. As in sysctl(8), a slash in the name stands for a dot.
func (s Sysctl) linkOf() string {
	parts := strings.SplitN(s.Key, ".", 5)
	if len(parts) < 5 || parts[2] != "conf" && parts[2] != "neigh" || parts[3] == "all" || parts[3] == "default" {
		return ""
	}
	return parts[3]
}
