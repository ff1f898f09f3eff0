package iptables

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/debian"
)

// Tables are saved by name: an ordinary user may not read /proc/net/ip_tables_names,
// from which iptables-legacy-save takes the list.

// scratch runs a shell script in a new network namespace and returns what it
// prints.
func scratch(t *testing.T, script, input string) string {
	t.Helper()
	debian.Require(t, "unshare", "ipset", "iptables-nft-restore", "iptables-legacy-restore")
	if err := exec.Command("unshare", "-rn", "true").Run(); err != nil {
		t.Skipf("user namespaces are not available: %v", err)
	}
	file := filepath.Join(t.TempDir(), "script") // may be longer than an argument can be
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-rn", "sh", "-e", file)
	cmd.Env = append(cmd.Environ(), "XTABLES_LOCKFILE="+t.TempDir()+"/lock")
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s\ninput:\n%s", err, &stderr, script, input)
	}
	return string(out)
}

// rulesOf returns the rules that iptables-save printed, as "table chain rule".
func rulesOf(saved string) []string {
	var rules []string
	table := ""
	for line := range strings.Lines(saved) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "*"):
			table = line[1:]
		case strings.HasPrefix(line, "-A "):
			rules = append(rules, table+" "+line[len("-A "):])
		}
	}
	return rules
}

var variants = []string{"iptables-nft", "iptables-legacy"}

func TestRulesReadBackAsSaved(t *testing.T) {
	sets := "ipset create KUBE-CLUSTER-IP hash:ip,port\n"
	for _, variant := range variants {
		t.Run(variant, func(t *testing.T) {
			var tables [2]Table
			tables[0].Name, tables[1].Name = "filter", "nat"
			tables[0].Chains = []Chain{{Name: "KUBE-MARK-MASQ"}}
			tables[1].Chains = []Chain{{Name: "KUBE-MARK-MASQ"}}
			var want []string
			for i, row := range ruleRows {
				table := &tables[1]
				switch row.rule.Target.(type) {
				case Reject, Drop: // not allowed in nat
					table = &tables[0]
				}
				name := fmt.Sprintf("ROW-%02d", i)
				table.Chains = append(table.Chains, Chain{Name: name, Rules: []Rule{row.rule}})
				want = append(want, strings.TrimRight(table.Name+" "+name+" "+row.rule.Save(), " "))
			}
			text := RestoreText(Create(tables[:]), false)
			saved := scratch(t, sets+fmt.Sprintf("%[1]s-restore --noflush; %[1]s-save -t filter; %[1]s-save -t nat", variant), text)
			got := map[string]bool{}
			for _, r := range rulesOf(saved) {
				got[r] = true
			}
			for _, w := range want {
				if !got[w] {
					t.Errorf("not printed by %s-save: %s", variant, w)
				}
			}
			if t.Failed() {
				t.Log(saved)
			}
		})
	}
}

func TestIPv6RulesReadBackAsSaved(t *testing.T) {
	rules := []Rule{
		{Matches: []Match{Src{block("fd00::/64"), true}, Dst{block("fd00::1/128"), false}, Proto{Name: "tcp"}, DPort{80}}, Target: Return{}},
		{Matches: []Match{Proto{Name: "icmpv6"}}, Target: Return{}},
		{Matches: []Match{Recent{List: "X", Seconds: 5, Reap: true, IPv6: true}}, Target: Return{}},
		{Matches: []Match{Recent{List: "X", Set: true, IPv6: true}}, Target: Return{}},
		{Target: Reject{With: "icmp6-port-unreachable"}},
		{Matches: []Match{Proto{Name: "icmpv6"}, ICMPType{Type: 135, AnyCode: true, IPv6: true}, ICMPType{Type: 1, Code: 4, IPv6: true}}, Target: Return{}},
	}
	edits := []Edit{{IPv6: true, Name: "filter", Set: []Chain{{Name: "X", Rules: rules}}}}
	for _, variant := range []string{"ip6tables-nft", "ip6tables-legacy"} {
		got := rulesOf(scratch(t, variant+"-restore --noflush; "+variant+"-save -t filter", RestoreText(edits, true)))
		if len(got) != len(rules) {
			t.Fatalf("%s: %d rules, want %d", variant, len(got), len(rules))
		}
		for i := range rules {
			if want := "filter X " + rules[i].Save(); got[i] != want {
				t.Errorf("%s:\n got %s\nwant %s", variant, got[i], want)
			}
		}
	}
}

// The texts are applied one after the other, each twice, to one namespace.
func TestEditsChangeOnlyTheirChains(t *testing.T) {
	jump := func(c string) Rule { return Rule{Target: Jump{c}} }
	steps := []struct {
		name  string
		edits []Edit
		want  []string
	}{{
		name: "two tables from nothing",
		edits: []Edit{
			{Name: "nat", Set: []Chain{{Name: "PREROUTING", Policy: "ACCEPT", Rules: []Rule{jump("A")}},
				{Name: "A", Rules: []Rule{jump("B")}}, {Name: "B", Rules: []Rule{jump("C")}}, {Name: "C"}}},
			{Name: "filter", Set: []Chain{{Name: "FORWARD", Policy: "DROP", Rules: []Rule{{Target: Accept{}}}}}},
		},
		want: []string{"filter FORWARD -j ACCEPT", "nat PREROUTING -j A", "nat A -j B", "nat B -j C"},
	}, {
		name:  "one chain, jumping to a chain that the text does not name",
		edits: []Edit{{Name: "nat", Set: []Chain{{Name: "A", Rules: []Rule{jump("C"), jump("B")}}}}},
		want:  []string{"filter FORWARD -j ACCEPT", "nat PREROUTING -j A", "nat A -j C", "nat A -j B", "nat B -j C"},
	}, {
		name: "chains are deleted while the chain jumping to them changes",
		edits: []Edit{{Name: "nat", Set: []Chain{{Name: "A", Rules: []Rule{{Target: Return{}}}}},
			Delete: []string{"C", "B"}}},
		want: []string{"filter FORWARD -j ACCEPT", "nat PREROUTING -j A", "nat A -j RETURN"},
	}, {
		name: "everything is removed",
		edits: []Edit{
			{Name: "nat", Set: []Chain{{Name: "PREROUTING", Policy: "ACCEPT"}}, Delete: []string{"A"}},
			{Name: "filter", Set: []Chain{{Name: "FORWARD", Policy: "ACCEPT"}}},
		},
	}}
	for _, variant := range variants {
		t.Run(variant, func(t *testing.T) {
			var script, want strings.Builder
			for _, s := range steps {
				for range 2 {
					fmt.Fprintf(&script, "%s-restore --noflush <<'EOF'\n%sEOF\n", variant, RestoreText(s.edits, false))
				}
				fmt.Fprintf(&script, "%s-save -t filter; %s-save -t nat\n", variant, variant)
				for _, w := range s.want {
					fmt.Fprintln(&want, w)
				}
			}
			saved := scratch(t, script.String(), "")
			if got := strings.Join(rulesOf(saved), "\n") + "\n"; got != want.String() {
				t.Errorf("got\n%swant\n%s", got, want.String())
			}
			if got := saved[strings.LastIndex(saved, "*nat"):]; strings.Contains(got, ":A ") || strings.Contains(got, ":B ") {
				t.Errorf("chains are left:\n%s", got)
			}
			if !strings.Contains(saved, ":FORWARD DROP") || strings.LastIndex(saved, ":FORWARD ACCEPT") < strings.LastIndex(saved, ":FORWARD DROP") {
				t.Errorf("the policy of FORWARD was not set and set back:\n%s", saved)
			}
		})
	}
}

func TestRestoreTextOfOtherFamilyIsEmpty(t *testing.T) {
	edits := []Edit{{IPv6: true, Name: "nat", Set: []Chain{{Name: "A"}}}}
	if got := RestoreText(edits, false); got != "" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkRestoreText(b *testing.B) {
	var chains []Chain
	for i := range 10_000 {
		c := Chain{Name: fmt.Sprintf("KUBE-SVC-%016d", i)}
		for range 10 {
			c.Rules = append(c.Rules, ruleRows[0].rule)
		}
		chains = append(chains, c)
	}
	edits := []Edit{{Name: "nat", Set: chains}}
	b.ReportAllocs()
	for b.Loop() {
		RestoreText(edits, false)
	}
}
