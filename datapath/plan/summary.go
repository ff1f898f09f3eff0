package plan

import (
	"fmt"
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
	if n := len(c.Remove); n > 0 {
		parts = append(parts, count(n, "network namespace")+" removed")
	}
	return strings.Join(parts, ", ")
}

// edited counts the objects that the edits touch.
func (c Changes) edited() string {
	var links, addrs, routes, neighs, fdb, sysctls, qdiscs, sets, chains, virtual, agents, execs int
	for i := range c.Edit {
		e := &c.Edit[i]
		for _, n := range []*Netns{&e.Add, &e.Change, &e.Delete} {
			links += len(n.Links)
			addrs += len(n.Addrs)
			routes += len(n.Routes)
			neighs += len(n.Neighs)
			fdb += len(n.FDB)
			sysctls += len(n.Sysctls)
			qdiscs += len(n.Qdiscs)
			sets += len(n.Sets)
			virtual += len(n.Virtual)
			agents += len(n.Agents)
			execs += len(n.Execs)
		}
		sets += len(e.Sets)
		virtual += len(e.Virtual)
		for _, t := range e.Tables {
			chains += len(t.Set) + len(t.Delete)
		}
		for j := range e.NFT {
			x := &e.NFT[j]
			chains += len(x.Chains) + len(x.DeleteChains)
			sets += len(x.Sets) + len(x.DeleteSets) + len(x.Elements)
		}
	}
	var parts []string
	for _, x := range []struct {
		n    int
		noun string
	}{{links, "link"}, {addrs, "address"}, {routes, "route"}, {neighs, "neighbour"}, {fdb, "FDB entry"},
		{sysctls, "sysctl"}, {qdiscs, "qdisc"}, {sets, "set"}, {chains, "chain"}, {virtual, "virtual server"}, {agents, "agent"}, {execs, "program"}} {
		if x.n > 0 {
			parts = append(parts, count(x.n, x.noun))
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
