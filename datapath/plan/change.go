package plan

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Changes leads from one plan to another. Each part is in canonical order.
type Changes struct {
	Create []Netns  // new namespaces, with everything in them
	Edit   []Edit   // namespaces that stay
	Remove []string // namespaces to remove, with everything in them
	// Again are the changes that a second read of the kernel showed to be needed:
	// replacing a link also removes what depends on it.
	Again []Changes
}

// Empty reports whether there is nothing to do.
func (c Changes) Empty() bool {
	return len(c.Create) == 0 && len(c.Edit) == 0 && len(c.Remove) == 0
}

// Edit lists what changes inside one namespace. Add, Change and Delete are sets of
// items in the lists of a Netns; their Tables are empty, see the field Tables. Sets in
// Change have another type or family and are recreated; for changes inside sets and
// virtual servers see the fields Sets and Virtual. Change holds items that exist under
// the same key with other attributes. Items of a namespace in Remove, and the far ends
// of its veths, may be listed in Delete: applying the edit must tolerate that they are
// already gone.
type Edit struct {
	Netns  string
	Kind   Kind
	Add    Netns
	Change Netns
	Delete Netns
	Sets   []ipset.Edit
	// Idle are the chains whose rules reference a set in Change: they are emptied while
	// it is recreated, since the kernel does not delete a set that is in use. Tables
	// fills them again.
	Idle   []iptables.Edit
	Tables []iptables.Edit
	NFT    []nft.Edit
	// Virtual are in the order of their addresses.
	Virtual []ipvs.Edit
	// UDP holds all services of the namespace, if its address translation changes; Cut
	// all its cuts, if its rules change in any way.
	UDP []UDPService
	Cut []Cut
}

// viaItself reports whether an address that is deleted is the gateway of a route that is added
// or changed: while the namespace has the address, the kernel takes it for its own.
func (e *Edit) viaItself(a Addr) bool {
	via := func(r Route) bool { return r.Via == a.Prefix.Addr() || slices.Contains(r.More, a.Prefix.Addr()) }
	return slices.ContainsFunc(e.Add.Routes, via) || slices.ContainsFunc(e.Change.Routes, via)
}

// replaced are the links in Delete whose name is also in Add: they are recreated.
func (e *Edit) replaced() []*Link {
	var both []*Link
	for i := range e.Delete.Links {
		if d := &e.Delete.Links[i]; slices.ContainsFunc(e.Add.Links, func(a Link) bool { return a.Name == d.Name }) {
			both = append(both, d)
		}
	}
	return both
}
