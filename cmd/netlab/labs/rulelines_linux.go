package labs

import (
	"fmt"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
)

// ruleLine is one rule with what it serves.
type ruleLine struct {
	Netns  string `json:"netns"`
	Table  string `json:"table"`
	Family string `json:"family,omitempty"` // of nf_tables: ip, ip6 or inet
	IPv6   bool   `json:"ipv6,omitempty"`   // of iptables
	Chain  string `json:"chain,omitempty"`
	Set    string `json:"set,omitempty"`  // of nf_tables; then Rule is an element
	Spec   string `json:"spec,omitempty"` // of a base chain or a set of nf_tables
	Rule   string `json:"rule"`           // empty: the chain or set itself
	Policy string `json:"policy,omitempty"`
	Object string `json:"object,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Extra  bool   `json:"extra,omitempty"` // not in the plan
	// Packets and Bytes are what the rule has counted; nil: it does not count.
	Packets *uint64 `json:"packets,omitempty"`
	Bytes   *uint64 `json:"bytes,omitempty"`
}

// place is what tells rules with the same text apart.
type place struct {
	family            string
	ipv6              bool
	table, chain, set string
	rule              string
}

func (l *ruleLine) place() place {
	return place{l.Family, l.IPv6, l.Table, l.Chain, l.Set, l.Rule}
}

// annotate lists the rules of a namespace, of one table or all, with the origins of the same
// rules in the plan.
func annotate(have, want *plan.Netns, table string) []ruleLine {
	origins := map[place]plan.Origin{}
	eachRule(want, func(l ruleLine, o plan.Origin) { origins[l.place()] = o })
	var lines []ruleLine
	eachRule(have, func(l ruleLine, _ plan.Origin) {
		if table != "" && l.Table != table {
			return
		}
		o, planned := origins[l.place()]
		l.Object, l.File, l.Line, l.Extra = o.Object, o.File, o.Line, !planned && l.Rule != ""
		lines = append(lines, l)
	})
	return lines
}

// count adds what the rules have counted, in the order of their chains.
func count(lines []ruleLine, counted []plan.Counted) {
	type at struct {
		netns string
		place
	}
	waiting := map[at][]*plan.Counted{}
	for i := range counted {
		c := &counted[i]
		key := at{c.Netns, place{family: c.Family, ipv6: c.IPv6, table: c.Table, chain: c.Chain, rule: c.Rule}}
		waiting[key] = append(waiting[key], c)
	}
	for i := range lines {
		l := &lines[i]
		key := at{l.Netns, l.place()}
		if all := waiting[key]; len(all) > 0 {
			l.Packets, l.Bytes, waiting[key] = &all[0].Packets, &all[0].Bytes, all[1:]
		}
	}
}

// eachRule calls f with the rules of a namespace in order, after the chain or set that they are
// in.
func eachRule(n *plan.Netns, f func(ruleLine, plan.Origin)) {
	n.EachRule(func(l plan.Listed) {
		f(ruleLine{Netns: n.Name, Table: l.Table, Family: l.Family, IPv6: l.IPv6, Chain: l.Chain, Set: l.Set, Spec: l.Spec, Rule: l.Rule, Policy: l.Policy}, l.Origin)
	})
}

// note is the comment after a rule: what it counted, where it is written and which object it
// serves.
func (l ruleLine) note() string {
	var words []string
	if l.Packets != nil {
		words = append(words, fmt.Sprintf("%d packets, %d bytes", *l.Packets, *l.Bytes))
	}
	if l.Extra {
		words = append(words, "not in the plan")
	}
	at := l.Object
	if l.File != "" {
		at = strings.TrimSuffix(fmt.Sprintf("%s:%d %s", l.File, l.Line, l.Object), " ")
	}
	if at != "" {
		words = append(words, at)
	}
	if words == nil {
		return ""
	}
	return "  # " + strings.Join(words, "; ")
}
