package plan

import (
	"fmt"
	"strings"
	"testing"
)

// deepTables has chains that jump from later to earlier names and back, and one
// that is longer than a chunk.
func deepTables() []Table {
	nat := Table{Name: "nat", Chains: []Chain{{Name: "PREROUTING", Policy: "ACCEPT", Rules: []Rule{{Target: Jump{"A-SERVICES"}}}}, {Name: "A-SERVICES"}}}
	for i := range 60 {
		service, endpoint := fmt.Sprintf("SVC-%d", i), fmt.Sprintf("SEP-%d", i)
		nat.Chains[1].Rules = append(nat.Chains[1].Rules, Rule{Matches: []Match{Comment{"default/web cluster IP"}, Proto{"tcp"}, DPort{uint16(i + 1)}}, Target: Jump{service}})
		nat.Chains = append(nat.Chains, Chain{Name: service, Rules: []Rule{{Raw: "-m comment --comment x -j " + endpoint}}},
			Chain{Name: endpoint, Rules: []Rule{{Matches: []Match{Comment{"default/web"}}, Target: Return{}}, {Target: Return{}}}})
	}
	filter := Table{Name: "filter", Chains: []Chain{{Name: "FORWARD", Policy: "DROP", Rules: []Rule{{Target: Accept{}}}}}}
	p := &Plan{Netns: []Netns{{Name: "node.a", Tables: []Table{nat, filter}}}}
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

func TestChunksEndAsTheWhole(t *testing.T) {
	tables := deepTables()
	edits := Edits(tables)
	save := "iptables-nft-save | grep -v '^#'\n"
	want := scratch(t, restoreScript(RestoreChunks(edits, false, 0))+save, "")
	for _, limit := range []int{3000, 20_000, 1 << 20} {
		chunks := RestoreChunks(edits, false, limit)
		if many := limit < 1<<20; many != (len(chunks) > 1) {
			t.Errorf("limit %d: %d chunks", limit, len(chunks))
		}
		// Twice: the second time all chains are there and in use.
		if got := scratch(t, restoreScript(chunks)+restoreScript(chunks)+save, ""); got != want {
			t.Errorf("limit %d: got\n%s\nwant\n%s", limit, got, want)
		}
	}
	var gone TableEdit
	gone.Name = "nat"
	for _, c := range tables[0].Chains {
		if c.Policy == "" {
			gone.Delete = append(gone.Delete, c.Name)
		} else {
			gone.Set = append(gone.Set, Chain{Name: c.Name, Policy: "ACCEPT"})
		}
	}
	left := scratch(t, restoreScript(RestoreChunks(edits, false, 0))+restoreScript(RestoreChunks([]TableEdit{gone}, false, 3000))+"iptables-nft-save -t nat\n", "")
	if strings.Contains(left, "SVC") || strings.Contains(left, "SEP") {
		t.Errorf("left:\n%s", left)
	}
}

// An ordinary user's socket buffer holds one chunk but not the whole.
func TestChunksFitTheSocketBufferOfAnOrdinaryUser(t *testing.T) {
	edits := Edits(manyRules().Netns[0].Tables)
	edits[0].Set = edits[0].Set[:200]
	for i := range edits[0].Set {
		c := &edits[0].Set[i]
		c.Rules = append([]Rule(nil), c.Rules...)
		for j := range c.Rules {
			if _, ok := c.Rules[j].Target.(Jump); ok {
				c.Rules[j].Target = Return{}
			}
		}
	}
	joined := strings.Join(RestoreChunks(edits, false, UserBuffer), "")
	script := restoreScript([]string{joined}) + "iptables-nft-save -t nat | grep -c ^-A\n"
	if got, want := strings.TrimSpace(scratch(t, script, "")), "1200"; got != want {
		t.Errorf("%s rules, want %s", got, want)
	}
}

func TestNoEditsAreNoChunks(t *testing.T) {
	if got := RestoreChunks(nil, false, 0); got != nil {
		t.Errorf("got %q", got)
	}
	if got := RestoreChunks([]TableEdit{{IPv6: true, Name: "nat", Set: []Chain{{Name: "X"}}}}, false, 100); got != nil {
		t.Errorf("got %q", got)
	}
}
