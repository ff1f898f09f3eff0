package trial

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
)

// table is a claim about a and b: a reaches b, b does not reach a.
func table() *expect.Reach {
	place := func(name, addr string) expect.Place {
		return expect.Place{Name: name, Netns: "pod." + name, Addrs: []netip.Addr{netip.MustParseAddr(addr)}}
	}
	target := func(name, addr string) expect.Target {
		return expect.Target{Name: "pod " + name + ":80", Addr: netip.MustParseAddrPort(addr + ":80")}
	}
	return &expect.Reach{
		Name: "table", From: []expect.Place{place("a", "10.0.0.1"), place("b", "10.0.0.2")}, To: []expect.Target{target("a", "10.0.0.1"), target("b", "10.0.0.2")},
		Allow: &expect.Allow{Pairs: [][]bool{{true, true}, {false, true}}, Denied: flow.Timeout},
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
			for i, f := range New(e, nil).Flows() {
				seen = append(seen, flow.Observation{Flow: f, Outcome: row.seen[i]})
			}
			v := New(e, nil).Judge(seen)
			if v.OK != (row.again == nil) || !reflect.DeepEqual(New(e, nil).Again(v, seen, 0), row.again) {
				t.Errorf("got %v, again %v, want %v", v.OK, New(e, nil).Again(v, seen, 0), row.again)
			}
			differ := 0
			for _, cells := range Table(e, v, nil).Cells {
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

func TestATruthTableInAReport(t *testing.T) {
	e := table()
	got := Table(e, New(e, nil).Judge(make([]flow.Observation, 4)), nil)
	if got.Port != 80 || !reflect.DeepEqual(got.To, []string{"a", "b"}) || !reflect.DeepEqual(got.From, []string{"a", "b"}) {
		t.Errorf("got %+v", got)
	}
	if Table(&expect.Reach{}, Verdict{}, nil) != nil {
		t.Error("an expectation without a table has one")
	}
}
