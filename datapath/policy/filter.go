package policy

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// Filter gathers the table filter of one node and one IP family, and the sets that it
// matches. Styles made of iptables rules build on it.
type Filter struct {
	iptables.Builder
	View *View
	IPv6 bool
	Sets []ipset.Set
}

// NewFilter returns an empty table.
func NewFilter(v *View, ipv6 bool) Filter {
	return Filter{Builder: iptables.NewBuilder("filter", ipv6, 0), View: v, IPv6: ipv6}
}

// Address is a pod's address in the family of the table, with its full length; false:
// it has none.
func (f *Filter) Address(p *topology.Pod) (netip.Prefix, bool) {
	a := topology.OfFamily(p.Addrs, f.IPv6)
	return topology.Single(a), a.IsValid()
}

// AddSet adds a set of addresses, and returns the condition that matches it with a part
// of a packet.
func (f *Filter) AddSet(name string, kind ipset.Type, members []netip.Prefix, part string, o plan.Origin) iptables.Match {
	entries := make([]ipset.Entry, 0, len(members))
	for _, p := range members {
		entries = append(entries, ipset.Entry{Prefix: p})
	}
	f.Sets = append(f.Sets, ipset.Set{Name: name, Type: kind, IPv6: f.IPv6, Entries: entries, Origin: o})
	return iptables.MatchSet{Set: name, Parts: part}
}

// AddPortSet adds a set of ports of addresses, and returns the condition that a packet
// is for one of them.
func (f *Filter) AddPortSet(name string, members []Member, o plan.Origin) iptables.Match {
	entries := make([]ipset.Entry, 0, len(members))
	for _, m := range members {
		entries = append(entries, ipset.Entry{Prefix: topology.Single(m.Addr), Proto: string(m.Protocol), Port: m.Port})
	}
	f.Sets = append(f.Sets, ipset.Set{Name: name, Type: ipset.HashIPPort, IPv6: f.IPv6, Entries: entries, Origin: o})
	return iptables.MatchSet{Set: name, Parts: "dst,dst"}
}

// SkipServed returns from a chain what is for services of IPVS, by sets of addresses and
// of ports; policies judge their endpoints.
func (f *Filter) SkipServed(chain, addrs, ports, comment string) {
	o, served := f.View.Origin(), f.View.Served(f.IPv6)
	skip := func(m iptables.Match) { f.Add(chain, o, iptables.Return{}, iptables.Comment{Text: comment}, m) }
	if len(served.Addrs) > 0 {
		skip(f.AddSet(addrs, ipset.HashIP, Singles(served.Addrs), "dst", o))
	}
	if len(served.Ports) > 0 {
		skip(f.AddPortSet(ports, served.Ports, o))
	}
}

// Deny appends the rules that end packets which meet some conditions.
func (f *Filter) Deny(chain string, o plan.Origin, matches ...iptables.Match) {
	for _, r := range f.View.Deny(f.IPv6) {
		f.Add(chain, o, r.Target, slices.Concat(r.Matches, matches)...)
	}
}

// Finish adds the table and its sets to a node.
func (f *Filter) Finish(n *plan.Netns) {
	n.Tables = append(n.Tables, f.Table)
	n.Sets = append(n.Sets, f.Sets...)
}
