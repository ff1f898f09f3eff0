package iptables

import (
	"strings"
	"testing"
)

// Rules of others stay in a built-in chain, between those of the plan that are ahead of them and
// the rest; what was planned before is not theirs, nor is anything in the chains of the plan.
func TestRulesOfOthersStay(t *testing.T) {
	rules := func(words string) (list []Rule) {
		for _, w := range strings.Fields(words) {
			list = append(list, Rule{Raw: "-j " + w})
		}
		return list
	}
	for _, c := range []struct {
		name, policy                string
		ahead                       int
		planned, have, before, want string
	}{
		{"nothing of others", "ACCEPT", 1, "P N", "P N", "P N", "P N"},
		{"at the head", "ACCEPT", 1, "P N", "A B P N", "P N", "P A B N"},
		{"nothing is ahead of them", "ACCEPT", 0, "N", "A N B", "N", "A B N"},
		{"in their place", "ACCEPT", 1, "P N", "P A N", "P N", "P A N"},
		{"flushed", "ACCEPT", 1, "P N", "A", "P N", "P A N"},
		{"planned before", "ACCEPT", 0, "N", "P A N", "P N", "A N"},
		{"planned from now on", "ACCEPT", 1, "P N", "A N", "N", "P A N"},
		{"a chain of the plan", "", 0, "N", "A N", "N", "N"},
		{"not planned any more", "ACCEPT", 0, "", "A P B", "P", "A B"},
		{"nor anybody's", "ACCEPT", 0, "", "P", "P", ""},
	} {
		chain := func(words string) []Table {
			if words == "" {
				return nil
			}
			return []Table{{Name: "filter", Chains: []Chain{{Name: "FORWARD", Policy: c.policy, Rules: rules(words), Ahead: c.ahead}}}}
		}
		text := func(list []Table) (words string) {
			for _, t := range list {
				for _, c := range t.Chains {
					for i := range c.Rules {
						words += " " + strings.TrimPrefix(c.Rules[i].Save(), "-j ")
					}
				}
			}
			return strings.TrimSpace(words)
		}
		planned := chain(c.planned)
		got := Adopt(planned, chain(c.have), chain(c.before))
		if text(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, text(got), c.want)
		}
		if again := Adopt(planned, got, planned); text(again) != c.want && c.planned != "" {
			t.Errorf("%s: once more: %s, want %s", c.name, text(again), c.want)
		}
		if text(planned) != c.planned {
			t.Errorf("%s: the plan was changed", c.name)
		}
	}
}
