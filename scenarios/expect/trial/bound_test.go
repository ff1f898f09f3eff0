package trial

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
)

func TestBoundsHoldForTheMedian(t *testing.T) {
	near := &expect.Place{Name: "near", Netns: "client.near"}
	for _, row := range []struct {
		name       string
		edit       func(*expect.Reach)
		trips      string // of the pair, in milliseconds
		references string
		wrong      string
	}{
		{"above a minimum", func(r *expect.Reach) { r.Latency = &expect.Bound{Min: 0.04} }, "41 42 90 40 1", "", ""},
		{"below a minimum", func(r *expect.Reach) { r.Latency = &expect.Bound{Min: 0.05} }, "41 42 90 40 1", "", "latency below 50ms"},
		{"below a maximum", func(r *expect.Reach) { r.Latency = &expect.Bound{Max: 0.05} }, "900 42 41 40 1", "", ""},
		{"above a maximum", func(r *expect.Reach) { r.Latency = &expect.Bound{Max: 0.05} }, "60 70 80 1 1", "", "latency above 50ms"},
		{"a ratio", func(r *expect.Reach) { r.Latency = &expect.Bound{AtLeast: 2, AtMost: 4, Than: near} }, "30 30 30 30 30", "10 10 10 10 10", ""},
		{"a small ratio", func(r *expect.Reach) { r.Latency = &expect.Bound{AtLeast: 4, Than: near} }, "30 30 30 30 30", "10 10 10 10 10", "latency is 3.00 times that of near (10ms)"},
		{"a large ratio", func(r *expect.Reach) { r.Latency = &expect.Bound{AtMost: 2, Than: near} }, "30 30 30 30 30", "10 10 10 10 10", "latency is 3.00 times that of near (10ms)"},
		{"nothing to compare with", func(r *expect.Reach) { r.Latency = &expect.Bound{AtMost: 2, Than: near} }, "30 30 30 30 30", "x x x x x", "near does not get through"},
		{"throughput", func(r *expect.Reach) { r.Throughput = &expect.Bound{Max: 2e6} }, "30", "", ""},
		{"too much throughput", func(r *expect.Reach) { r.Throughput = &expect.Bound{Max: 5e5} }, "30", "", "throughput above 500 kbit/s"},
		{"MTU", func(r *expect.Reach) { r.MTU = 1450 }, "30", "", ""},
		{"another MTU", func(r *expect.Reach) { r.MTU = 1500 }, "30", "", "packets of up to 1450 bytes, not 1500"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &expect.Reach{From: []expect.Place{{Name: "far", Netns: "client.far"}}, To: []expect.Target{{Name: "web", Addr: netip.MustParseAddrPort("10.0.0.1:80")}}}
			row.edit(r)
			flows := New(r, nil).Flows()
			words := strings.Fields(row.trips + " " + row.references)
			if len(words) != len(flows) {
				t.Fatalf("%d flows", len(flows))
			}
			var seen []flow.Observation
			for i, f := range flows {
				if reference := i >= len(strings.Fields(row.trips)); reference != (f.From == "client.near") {
					t.Errorf("flow %d is dialed from %s", i, f.From)
				}
				s := flow.Observation{Flow: f, Outcome: flow.Connected, Rate: 1e6, MTU: 1450}
				d, err := time.ParseDuration(words[i] + "ms")
				if s.RoundTrip = d; err != nil {
					s.Outcome = flow.Timeout
				}
				seen = append(seen, s)
			}
			v := New(r, nil).Judge(seen)
			if v.OK != (row.wrong == "") || !strings.Contains(v.Pairs[0].Observed, row.wrong) || v.Pairs[0].Measured == "" {
				t.Errorf("OK %v, observed %q, measured %q", v.OK, v.Pairs[0].Observed, v.Pairs[0].Measured)
			}
			if again := New(r, nil).Again(v, seen, 0); !v.OK && len(again) != len(flows) {
				t.Errorf("%d of %d flows are dialed again", len(again), len(flows))
			}
		})
	}
}
