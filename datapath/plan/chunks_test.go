package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// deepTables has chains that jump from later to earlier names and back, and one
// that is longer than a chunk.
func deepTables() []iptables.Table {
	nat := iptables.Table{Name: "nat", Chains: []iptables.Chain{{Name: "PREROUTING", Policy: "ACCEPT", Rules: []iptables.Rule{{Target: iptables.Jump{Chain: "A-SERVICES"}}}}, {Name: "A-SERVICES"}}}
	for i := range 60 {
		service, endpoint := fmt.Sprintf("SVC-%d", i), fmt.Sprintf("SEP-%d", i)
		nat.Chains[1].Rules = append(nat.Chains[1].Rules, iptables.Rule{Matches: []iptables.Match{iptables.Comment{Text: "default/web cluster IP"}, iptables.Proto{Name: "tcp"}, iptables.DPort{Port: uint16(i + 1)}}, Target: iptables.Jump{Chain: service}})
		nat.Chains = append(nat.Chains, iptables.Chain{Name: service, Rules: []iptables.Rule{{Raw: "-m comment --comment x -j " + endpoint}}},
			iptables.Chain{Name: endpoint, Rules: []iptables.Rule{{Matches: []iptables.Match{iptables.Comment{Text: "default/web"}}, Target: iptables.Return{}}, {Target: iptables.Return{}}}})
	}
	filter := iptables.Table{Name: "filter", Chains: []iptables.Chain{{Name: "FORWARD", Policy: "DROP", Rules: []iptables.Rule{{Target: iptables.Accept{}}}}}}
	p := &Plan{Netns: []Netns{{Name: "node.a", Tables: []iptables.Table{nat, filter}}}}
	p.Sort()
	return p.Netns[0].Tables
}

func restoreScript(chunks []string) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "iptables-nft-restore --noflush <<'EOF'\n%sEOF\n", c)
	}
	return b.String()
}

func TestChunksAddUpToTheWhole(t *testing.T) {
	tables := deepTables()
	edits := iptables.Create(tables)
	save := "iptables-nft-save | grep -v '^#'\n"
	want := run(t, restoreScript(iptables.Chunks(edits, false, 0))+save, "")
	for _, limit := range []int{3000, 20_000, 1 << 20} {
		chunks := iptables.Chunks(edits, false, limit)
		if many := limit < 1<<20; many != (len(chunks) > 1) {
			t.Errorf("limit %d: %d chunks", limit, len(chunks))
		}
		// Twice: the second time all chains exist and are in use.
		if got := run(t, restoreScript(chunks)+restoreScript(chunks)+save, ""); got != want {
			t.Errorf("limit %d: got\n%s\nwant\n%s", limit, got, want)
		}
	}
	var gone iptables.Edit
	gone.Name = "nat"
	for _, c := range tables[0].Chains {
		if c.Policy == "" {
			gone.Delete = append(gone.Delete, c.Name)
		} else {
			gone.Set = append(gone.Set, iptables.Chain{Name: c.Name, Policy: "ACCEPT"})
		}
	}
	left := run(t, restoreScript(iptables.Chunks(edits, false, 0))+restoreScript(iptables.Chunks([]iptables.Edit{gone}, false, 3000))+"iptables-nft-save -t nat\n", "")
	if strings.Contains(left, "SVC") || strings.Contains(left, "SEP") {
		t.Errorf("left:\n%s", left)
	}
}

// An ordinary user's socket buffer holds one chunk but not all of it.
func TestChunksFitTheSocketBufferOfAnOrdinaryUser(t *testing.T) {
	edits := iptables.Create(manyRules().Netns[0].Tables)
	edits[0].Set = edits[0].Set[:200]
	for i := range edits[0].Set {
		c := &edits[0].Set[i]
		c.Rules = append([]iptables.Rule(nil), c.Rules...)
		for j := range c.Rules {
			if _, ok := c.Rules[j].Target.(iptables.Jump); ok {
				c.Rules[j].Target = iptables.Return{}
			}
		}
	}
	joined := strings.Join(iptables.Chunks(edits, false, iptables.UserBuffer), "")
	script := restoreScript([]string{joined}) + "iptables-nft-save -t nat | grep -c ^-A\n"
	if got, want := strings.TrimSpace(run(t, script, "")), "1200"; got != want {
		t.Errorf("%s rules, want %s", got, want)
	}
}

func TestNoEditsAreNoChunks(t *testing.T) {
	if got := iptables.Chunks(nil, false, 0); got != nil {
		t.Errorf("got %q", got)
	}
	if got := iptables.Chunks([]iptables.Edit{{IPv6: true, Name: "nat", Set: []iptables.Chain{{Name: "X"}}}}, false, 100); got != nil {
		t.Errorf("got %q", got)
	}
}
