package policy

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// Filter gathers the table filter of one node and one IP family, and the sets that it
// matches. Styles made of iptables rules build on it.
type Filter struct {
	View *View
	IPv6 bool
	Sets []ipset.Set

	table iptables.Table
	index map[string]int // of chains
}

// NewFilter returns an empty table.
func NewFilter(v *View, ipv6 bool) Filter {
	return Filter{View: v, IPv6: ipv6, table: iptables.Table{Name: "filter", IPv6: ipv6}, index: map[string]int{}}
}

// Ensure makes sure that a chain exists; builtin is the policy of a built-in one, ""
// for any other.
func (f *Filter) Ensure(name, builtin string) *iptables.Chain {
	i, ok := f.index[name]
	if !ok {
		i = len(f.table.Chains)
		f.index[name] = i
		f.table.Chains = append(f.table.Chains, iptables.Chain{Name: name, Policy: builtin})
	}
	return &f.table.Chains[i]
}

// Has reports whether a chain exists.
func (f *Filter) Has(name string) bool {
	_, ok := f.index[name]
	return ok
}

// Add appends a rule to a chain.
func (f *Filter) Add(chain string, o plan.Origin, target iptables.Target, matches ...iptables.Match) {
	to := f.Ensure(chain, "")
	to.Rules = append(to.Rules, iptables.Rule{Matches: matches, Target: target, Origin: o})
}

// Address is a pod's address in the family of the table, with its full length; false:
// it has none.
func (f *Filter) Address(p *topology.Pod) (netip.Prefix, bool) {
	for _, a := range p.Addrs {
		if a.Is6() == f.IPv6 {
			return netip.PrefixFrom(a, a.BitLen()), true
		}
	}
	return netip.Prefix{}, false
}

// Finish adds the table and its sets to a node.
func (f *Filter) Finish(n *plan.Netns) {
	n.Tables = append(n.Tables, f.table)
	n.Sets = append(n.Sets, f.Sets...)
}
