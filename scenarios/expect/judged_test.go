package expect_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/expect/trial"
)

// A wrong value must fail whatever the evidence is, and paper must name what it cannot
// judge.
func TestEveryCheckJudgesPacketsAndPaper(t *testing.T) {
	world := expect.Twins()
	for name, claim := range expect.Examples {
		t.Run(name, func(t *testing.T) {
			for ok, r := range map[bool]expect.Reach{true: claim.Right, false: claim.Wrong} {
				r.From, r.Count = []expect.Place{{Name: "a", Netns: "client.a"}}, 400
				if r.To == nil {
					r.To = []expect.Target{{Name: "twins", Addr: netip.MustParseAddrPort("127.0.0.1:80")}}
				}
				if v := trial.New(&r, nil).Judge(asPredicted(&r, world)); v.OK != ok {
					t.Errorf("packets: %v, want %v: %s", v.OK, ok, v.Pairs[0].Observed)
				}
				if expect.Measures(name) {
					if !slices.Contains(r.Unpredicted(), name) {
						t.Errorf("on paper %s is not named as not judged", name)
					}
					continue
				}
				if f := trial.Predict(&r, world)[0]; f.OK != ok || len(r.Unpredicted()) > 0 {
					t.Errorf("paper: %v, want %v: %q, not predicted %q", f.OK, ok, f.Wrong, r.Unpredicted())
				}
			}
		})
	}
}

// asPredicted is what packets show of the flows if the world behaves as the walker predicts.
func asPredicted(r *expect.Reach, w *walk.World) []flow.Observation {
	var all []flow.Observation
	for i, f := range trial.New(r, nil).Flows() {
		o := flow.Observation{Flow: f, RoundTrip: time.Millisecond, Rate: 1e6, MTU: 1500, Header: map[string]string{"content-type": "application/json"}, Asked: map[string]string{flow.SeenPath: "/"}}
		at := (float64(i) + 0.5) / float64(r.Connections())
		for _, b := range w.Walk(f).Branches {
			if at -= b.Probability; at < 0 {
				o.Outcome, o.Answer, o.Node, o.TTL, o.Status, o.Forwarded = b.Outcome, b.Answer, b.Node, b.TTL, b.Status, b.Forwarded
				o.Source = netip.AddrPortFrom(b.Source, 40000)
				break
			}
		}
		all = append(all, o)
	}
	return all
}
