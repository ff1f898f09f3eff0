package iptables

import "slices"

// Accounts lists the accounting objects that rules of edits count in, each once, in the
// order of the rules.
func Accounts(edits []Edit) []string {
	var names []string
	for i := range edits {
		for j := range edits[i].Set {
			for _, name := range accounts(edits[i].Set[j].Rules) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// Counts reports whether rules of tables count in accounting objects.
func Counts(tables []Table) bool {
	return slices.ContainsFunc(tables, func(t Table) bool {
		return slices.ContainsFunc(t.Chains, func(c Chain) bool { return len(accounts(c.Rules)) > 0 })
	})
}

// Uncounted is what tables are on a kernel without accounting objects: kube-proxy leaves out
// the matches there, and the rules that only count. Those given stay as they are.
func Uncounted(tables []Table) []Table {
	tables = slices.Clone(tables)
	for i := range tables {
		chains := slices.Clone(tables[i].Chains)
		for j := range chains {
			if len(accounts(chains[j].Rules)) > 0 {
				chains[j].Rules = uncounted(chains[j].Rules)
			}
		}
		tables[i].Chains = chains
	}
	return tables
}

func uncounted(rules []Rule) []Rule {
	var list []Rule
	for _, r := range rules {
		counts := func(m Match) bool { _, ok := m.(NFAcct); return ok }
		if slices.ContainsFunc(r.Matches, func(m Match) bool { a, ok := m.(NFAcct); return ok && a.Alone }) {
			continue
		}
		if slices.ContainsFunc(r.Matches, counts) {
			r.Matches = slices.DeleteFunc(slices.Clone(r.Matches), counts)
		}
		list = append(list, r)
	}
	return list
}

func accounts(rules []Rule) (names []string) {
	for i := range rules {
		for _, m := range rules[i].Matches {
			if a, ok := m.(NFAcct); ok {
				names = append(names, a.Object)
			}
		}
	}
	return names
}
