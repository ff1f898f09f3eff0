package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Summary tells in one line how much changes: "2 namespaces created, 1 changed (3
// chains, 1 link)". It is "no change" for empty changes.
func (c Changes) Summary() string {
	if c.Empty() {
		return "no change"
	}
	var parts []string
	if n := len(c.Create); n > 0 {
		parts = append(parts, count(n, "network namespace")+" created")
	}
	if n := len(c.Edit); n > 0 {
		parts = append(parts, count(n, "network namespace")+" changed ("+c.edited()+")")
	}
	removed, anew := 0, 0
	for _, name := range c.Remove {
		if slices.ContainsFunc(c.Again, func(a Changes) bool {
			return slices.ContainsFunc(a.Create, func(n Netns) bool { return n.Name == name })
		}) {
			anew++
		} else {
			removed++
		}
	}
	if anew > 0 {
		parts = append(parts, count(anew, "network namespace")+" made anew")
	}
	if removed > 0 {
		parts = append(parts, count(removed, "network namespace")+" removed")
	}
	return strings.Join(parts, ", ")
}

// nouns name what is counted, in the order in which it is listed.
var nouns = [...]string{"link", "address", "route", "neighbour", "FDB entry", "sysctl", "qdisc", "set", "chain", "virtual server", "agent", "program", "tunnel", "BGP speaker", "xfrm state", "xfrm policy", "proxy port", "DNS record", "resolver", "file set", "HTTP route", "deviation"}

// sizes are the numbers of these.
type sizes [len(nouns)]int

// sizes counts what is listed in n, tables aside.
func (n *Netns) sizes() sizes {
	return sizes{len(n.Links), len(n.Addrs), len(n.Routes), len(n.Neighs), len(n.FDB), len(n.Sysctls), len(n.Qdiscs),
		len(n.Sets), 0, len(n.Virtual), len(n.Agents), len(n.Execs), len(n.Tunnels), len(n.Speakers), len(n.XfrmStates), len(n.XfrmPolicies), len(n.ProxyPorts), len(n.Records), len(n.Resolvers), len(n.Files), len(n.Routing), len(n.Deviations)}
}

// edited counts the objects that the edits touch.
func (c Changes) edited() string {
	var all sizes
	sets, chains, virtual := &all[7], &all[8], &all[9]
	for i := range c.Edit {
		e := &c.Edit[i]
		for _, n := range []*Netns{&e.Add, &e.Change, &e.Delete} {
			for kind, size := range n.sizes() {
				all[kind] += size
			}
		}
		*sets += len(e.Sets)
		*virtual += len(e.Virtual)
		for _, t := range e.Tables {
			*chains += len(t.Set) + len(t.Delete)
		}
		for j := range e.NFT {
			x := &e.NFT[j]
			*chains += len(x.Chains) + len(x.DeleteChains)
			*sets += len(x.Sets) + len(x.DeleteSets) + len(x.Elements)
		}
	}
	var parts []string
	for kind, size := range all {
		if size > 0 {
			parts = append(parts, count(size, nouns[kind]))
		}
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "y"):
		noun = noun[:len(noun)-1] + "ies"
	case strings.HasSuffix(noun, "ss"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
