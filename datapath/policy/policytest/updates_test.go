package policytest

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// life is a lab that changes: a pool of policies of which some are present, and labels.
type life struct {
	random   *rand.Rand
	policies map[int]bool // of pool
	edits    map[string]statement
}

func newLife(seed uint64) *life {
	return &life{random: rand.New(rand.NewPCG(seed, 1)), policies: map[int]bool{0: true, 3: true}, edits: map[string]statement{}}
}

// pool are policies whose selectors depend on the labels that change.
func pool() []statement {
	return []statement{
		policy("x", "", types("Ingress"), in(pods("pod=b"))),
		policy("x", "first", types("Egress"), out(namespaces("ns in y,z"), ports("80"))),
		policy("y", "pod in a,b", in(both("letter", "pod notin c")), in(block("pods of node1"), ports("81"))),
		policy("y", "", types("Ingress", "Egress"), in(pods("")), out(both("", "pod=a"), ports("web"))),
		policy("z", "pod=b", types("Ingress"), in(block("pods", "x/a"))),
		policy("z", "", types("Egress"), out(pods("")), out(namespaces("ns=x"))),
	}
}

// change changes one thing, and describes it.
func (l *life) change() string {
	pick := func(list ...string) string { return list[l.random.IntN(len(list))] }
	switch l.random.IntN(3) {
	case 0:
		p, value := pick("x/a", "x/b", "x/c", "y/a", "y/b", "y/c", "z/a", "z/b", "z/c"), pick("a", "b", "c", "")
		l.edits["pod "+p] = label(p, "pod", value)
		return "pod " + p + " is " + value
	case 1:
		n, value := pick("x", "y", "z"), pick("x", "y", "z", "")
		l.edits["namespace "+n] = namespaceLabel(n, "ns", value)
		return "namespace " + n + " is " + value
	}
	i := l.random.IntN(len(pool()))
	l.policies[i] = !l.policies[i]
	return "policy of the pool comes or goes"
}

// now is the current state of the lab as a case.
func (l *life) now(name string) *Case {
	c := &Case{Name: name}
	for i, p := range pool() {
		if l.policies[i] {
			c.Say = append(c.Say, named(p, "pool"+string(rune('a'+i))))
		}
	}
	for _, k := range slices.Sorted(mapKeys(l.edits)) {
		c.Say = append(c.Say, l.edits[k])
	}
	return c
}

func mapKeys(m map[string]statement) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// named gives a policy a name that does not depend on the others.
func named(s statement, name string) statement {
	return func(r *testLab, spec *topology.Spec) {
		s(r, spec)
		spec.Policies[len(spec.Policies)-1].Name = name
	}
}

// A change of labels that does not change which pods are isolated changes members of
// sets and no rule.
func TestALabelChangesMembersOnly(t *testing.T) {
	for _, style := range []string{"kube-router", "calico"} {
		r := enter(t, &Setup{Style: style, Mode: "vxlan", Deny: "drop"})
		say := []statement{policy("x", "", types("Ingress"), in(namespaces("ns=y"), ports("80")), in(pods("pod=b"))), policy("z", "", types("Egress"), out(pods("")))}
		_, _, before := r.open(t, &Case{Say: say})
		_, _, after := r.open(t, &Case{Say: append(say, label("x/c", "pod", "b"))})
		c := plan.Diff(before, after)
		if len(c.Edit) == 0 || len(c.Create)+len(c.Remove) > 0 {
			t.Fatalf("%s: %+v", style, c)
		}
		for _, e := range c.Edit {
			if len(e.Tables) > 0 {
				t.Errorf("%s: %s: chains change: %+v", style, e.Netns, e.Tables)
			}
			members := 0
			for _, s := range e.Sets {
				members += len(s.Add) + len(s.Delete)
			}
			if members != 1 {
				t.Errorf("%s: %s: %d members of sets change, want 1: %+v", style, e.Netns, members, e.Sets)
			}
		}
	}
}

// A new policy changes nothing for pods that it does not select.
func TestAPolicyChangesItsOwnChainsOnly(t *testing.T) {
	r := enter(t, &Setup{Style: "kube-router", Mode: "vxlan", Deny: "drop"})
	first := named(policy("x", "", types("Ingress"), in(pods(""))), "first")
	_, _, before := r.open(t, &Case{Say: []statement{first}})
	_, _, after := r.open(t, &Case{Say: []statement{first, named(policy("z", "pod=b", types("Ingress")), "second")}})
	for _, e := range plan.Diff(before, after).Edit {
		if e.Netns == "node.node1" {
			t.Errorf("z/b is on node2, but node1 changes: %+v", e)
		}
		for _, table := range e.Tables {
			for _, c := range table.Set {
				// The top chains list the pods.
				if !strings.HasPrefix(c.Name, "KUBE-ROUTER-") && !strings.Contains(c.Name, "KUBE-POD-FW-") && !strings.Contains(c.Name, "KUBE-NWPLCY-IN-") {
					t.Errorf("%s: chain %s changes", e.Netns, c.Name)
				}
			}
			if n := len(table.Set); n > 4 || len(table.Delete) > 0 {
				t.Errorf("%s: %d chains change", e.Netns, n)
			}
		}
	}
}

// The address of a removed pod is gone from all sets and rules, so its next owner
// inherits nothing.
func TestAddressesOfRemovedPodsAreNowhere(t *testing.T) {
	for _, style := range enforcing() {
		r := enter(t, &Setup{Style: style, Mode: "vxlan", Deny: "drop"})
		gone := r.ends["y/b"].addr
		c := &Case{Say: []statement{policy("x", "", in(namespaces("ns=y")), out(both("ns=y", "pod=b"), ports("web"))), policy("y", "", in(pods("")), out(pods(""))),
			func(_ *testLab, spec *topology.Spec) {
				spec.Pods = slices.DeleteFunc(spec.Pods, func(p topology.PodSpec) bool { return p.Namespace.Value == "y" && p.Name() == "b" })
			}}}
		_, _, p := r.open(t, c)
		for _, n := range p.Netns {
			for _, s := range n.Sets {
				for _, e := range s.Entries {
					if e.Prefix.Addr() == gone {
						t.Errorf("%s: %s: set %s still has %s", style, n.Name, s.Name, gone)
					}
				}
			}
			for _, table := range n.Tables {
				for _, chain := range table.Chains {
					for _, rule := range chain.Rules {
						if strings.Contains(rule.Restore(chain.Name), netip.PrefixFrom(gone, 32).String()) {
							t.Errorf("%s: %s: a rule of %s still has %s", style, n.Name, chain.Name, gone)
						}
					}
				}
			}
		}
	}
}
