package expect

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
)

// table is a claim about a and b: a reaches b, b does not reach a.
func table() *Reach {
	place := func(name, addr string) Place {
		return Place{Name: name, Netns: "pod." + name, Addrs: []netip.Addr{netip.MustParseAddr(addr)}}
	}
	target := func(name, addr string) Target {
		return Target{Name: "pod " + name + ":80", Addr: netip.MustParseAddrPort(addr + ":80")}
	}
	return &Reach{
		Name: "table", From: []Place{place("a", "10.0.0.1"), place("b", "10.0.0.2")}, To: []Target{target("a", "10.0.0.1"), target("b", "10.0.0.2")},
		Allow: &Allow{Pairs: [][]bool{{true, true}, {false, true}}, Denied: flow.Timeout},
	}
}

func TestATruthTableIsJudgedPairByPair(t *testing.T) {
	const c, x, r = flow.Connected, flow.Timeout, flow.Refused
	for _, row := range []struct {
		name  string
		seen  [4]flow.Outcome
		again []int
	}{
		{"as claimed", [4]flow.Outcome{c, c, x, c}, nil},
		{"a hole", [4]flow.Outcome{c, c, c, c}, []int{2}},
		{"too tight", [4]flow.Outcome{c, x, x, c}, []int{1}},
		{"denied differently", [4]flow.Outcome{c, c, r, c}, []int{2}},
		{"the reverse", [4]flow.Outcome{c, x, c, c}, []int{1, 2}},
		{"the probe broke", [4]flow.Outcome{c, c, flow.Failed, c}, []int{2}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := table()
			var seen []flow.Observation
			for i, f := range e.Try(nil).Flows() {
				seen = append(seen, flow.Observation{Flow: f, Outcome: row.seen[i]})
			}
			v := e.Try(nil).Judge(seen)
			if v.OK != (row.again == nil) || !reflect.DeepEqual(e.Try(nil).Again(v, seen, 0), row.again) {
				t.Errorf("got %v, again %v, want %v", v.OK, e.Try(nil).Again(v, seen, 0), row.again)
			}
			differ := 0
			for _, cells := range e.Table(v, nil).Cells {
				for _, cell := range cells {
					if cell.Disagrees {
						differ++
					}
				}
			}
			if differ != len(row.again) {
				t.Errorf("%d cells differ, want %d", differ, len(row.again))
			}
		})
	}
}

func TestATruthTableInWords(t *testing.T) {
	e := table()
	if got, want := e.Describe(), "a and b to pod a:80 and pod b:80 over tcp: 3 of 4 pairs connected, all others timeout"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got := e.Table(e.Try(nil).Judge(make([]flow.Observation, 4)), nil)
	if got.Port != 80 || !reflect.DeepEqual(got.To, []string{"a", "b"}) || !reflect.DeepEqual(got.From, []string{"a", "b"}) {
		t.Errorf("got %+v", got)
	}
	if (&Reach{}).Table(Verdict{}, nil) != nil {
		t.Error("an expectation without a table has one")
	}
}

// A pod that reaches itself proves that something listens.
func TestSilenceInATruthTable(t *testing.T) {
	e := table()
	if w := Controls(nil, []*Reach{e}); len(w) != 0 {
		t.Errorf("got %v", w)
	}
	e.Allow.Pairs = [][]bool{{false, true}, {false, true}}
	if w := Controls(nil, []*Reach{e}); len(w) != 1 {
		t.Errorf("got %v, want a warning about a", w)
	}
}
