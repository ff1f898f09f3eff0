package trial

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/scenarios/expect"
)

// twins is a host with two servers behind port 80, chosen at random. One of them answers
// half of the connections to port 82; the others are refused.
func twins() *walk.World {
	rule := func(t iptables.Target, m ...iptables.Match) iptables.Rule {
		return iptables.Rule{Matches: m, Target: t}
	}
	tcp := iptables.Proto{Name: "tcp"}
	to := func(port uint16) iptables.Target {
		return iptables.DNAT{To: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)}
	}
	return walk.New(&plan.Plan{Netns: []plan.Netns{{
		Name: "client.a",
		Tables: []iptables.Table{{Name: "nat", Chains: []iptables.Chain{{Name: "OUTPUT", Policy: "ACCEPT", Rules: []iptables.Rule{
			rule(to(1), tcp, iptables.DPort{Port: 80}, iptables.Random{Probability: 0.25}),
			rule(to(2), tcp, iptables.DPort{Port: 80}),
			rule(to(1), tcp, iptables.DPort{Port: 82}, iptables.Random{Probability: 0.5}),
			rule(to(1), tcp, iptables.DPort{Port: 83}, iptables.Random{Probability: 0.5}),
		}}}}, {Name: "filter", Chains: []iptables.Chain{{Name: "INPUT", Policy: "ACCEPT", Rules: []iptables.Rule{rule(iptables.Drop{}, tcp, iptables.DPort{Port: 83})}}}}},
		Agents: []occupant.Agent{{Name: "one", Listen: []occupant.Listen{{Protocol: "tcp", Port: 1}}}, {Name: "two", Listen: []occupant.Listen{{Protocol: "tcp", Port: 2}}}},
	}}})
}

// twin is a port of the world of twins.
func twin(port uint16) []expect.Target {
	return []expect.Target{{Name: "twins", Addr: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)}}
}

func TestPredictJudgesTheClaim(t *testing.T) {
	self := expect.Place{Name: "a", Netns: "client.a"}
	at := func(port uint16) []expect.Target {
		return []expect.Target{{Name: "there", Addr: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)}}
	}
	one := netip.MustParsePrefix("127.0.0.1/32")
	for _, row := range []struct {
		name  string
		reach expect.Reach
		want  []string
	}{
		{"as claimed", expect.Reach{To: at(80), Answers: []string{"one", "two"}, Sources: [][]netip.Prefix{{one}}}, nil},
		{"weights", expect.Reach{To: at(80), Spread: &expect.Spread{Tolerance: 0.01, Weights: map[string]float64{"one": 1, "two": 3}}}, nil},
		{"another outcome", expect.Reach{To: at(81)}, []string{""}},
		{"refused as claimed", expect.Reach{To: at(81), Outcome: flow.Refused}, nil},
		{"one too many", expect.Reach{To: at(80), Answers: []string{"one"}}, []string{"outside the claim: 75 % connected, answered by two, seen as 127.0.0.1 (two should not answer)"}},
		{"one too few", expect.Reach{To: at(80), Answers: []string{"one", "two", "three"}}, []string{"three cannot answer"}},
		{"another source", expect.Reach{To: at(80), Sources: [][]netip.Prefix{{netip.MustParsePrefix("10.0.0.0/8")}}},
			[]string{"outside the claim: 25 % connected, answered by one, seen as 127.0.0.1 (127.0.0.1 is not an allowed source)",
				"outside the claim: 75 % connected, answered by two, seen as 127.0.0.1 (127.0.0.1 is not an allowed source)"}},
		{"sometimes", expect.Reach{To: at(80), Answers: []string{"one"}, Sometimes: true}, nil},
		{"not even sometimes", expect.Reach{To: at(80), Answers: []string{"one"}, Sources: [][]netip.Prefix{{netip.MustParsePrefix("10.0.0.0/8")}}, Sometimes: true},
			[]string{"no connection is as claimed"}},
		{"one of them not even sometimes", expect.Reach{To: at(80), Answers: []string{"one", "three"}, Sometimes: true}, []string{"three cannot answer"}},
		{"half of the packets", expect.Reach{To: at(83), Mix: map[flow.Outcome]float64{flow.Connected: 1, flow.Timeout: 1}, Within: time.Second}, nil},
		{"half of them, sent twice", expect.Reach{To: at(82), Mix: map[flow.Outcome]float64{flow.Connected: 1, flow.Refused: 1}, Within: 2500 * time.Millisecond}, nil},
		{"half of them", expect.Reach{To: at(82), Mix: map[flow.Outcome]float64{flow.Connected: 1, flow.Refused: 1}}, nil},
		{"all of them", expect.Reach{To: at(82)}, []string{"outside the claim: 50 % refused"}},
		{"some of them", expect.Reach{To: at(82), Outcome: flow.Refused, Sometimes: true}, nil},
		{"other weights", expect.Reach{To: at(82), Mix: map[flow.Outcome]float64{flow.Connected: 2, flow.Refused: 1}},
			[]string{"50.0 % of the connections end connected, not 66.7 %", "50.0 % of the connections end refused, not 33.3 %"}},
		{"another outcome in the mix", expect.Reach{To: at(82), Mix: map[flow.Outcome]float64{flow.Connected: 1, flow.Timeout: 1}},
			[]string{"outside the claim: 50 % refused", "0.0 % of the connections end timeout, not 50.0 %"}},
		{"who answers in the mix", expect.Reach{To: at(82), Mix: map[flow.Outcome]float64{flow.Connected: 1, flow.Refused: 1}, Answers: []string{"one"}}, nil},
		{"unfair", expect.Reach{To: at(80), Spread: &expect.Spread{Tolerance: 0.1}}, []string{"one has 25.0 % of the answers, not 50.0 %", "two has 75.0 % of the answers, not 50.0 %"}},
		{"no such name", expect.Reach{To: []expect.Target{{Name: "nowhere", NotFound: true}}}, []string{""}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.reach.From = []expect.Place{self}
			got := Predict(&row.reach, twins())
			if len(got) != 1 || !slices.Equal(got[0].Wrong, row.want) {
				t.Errorf("got %q, want %q", got[0].Wrong, row.want)
			}
		})
	}
}

func TestDisagreementIsNotFailure(t *testing.T) {
	r := expect.Reach{From: []expect.Place{{Name: "a", Netns: "client.a"}}, To: []expect.Target{{Name: "there", Addr: netip.MustParseAddrPort("127.0.0.1:80")}}}
	f := Predict(&r, twins())[0]
	loop := netip.MustParseAddrPort("127.0.0.1:4711")
	one := flow.Observation{Outcome: flow.Connected, Answer: "one", Source: loop}
	two := flow.Observation{Outcome: flow.Connected, Answer: "two", Source: loop}
	many := slices.Repeat([]flow.Observation{one}, 200)
	for _, row := range []struct {
		name string
		seen []flow.Observation
		want int
	}{
		{"as predicted", []flow.Observation{one, two}, 0},
		{"few connections leave one out", []flow.Observation{one}, 0},
		{"many do not", many, 1},
		{"timeout", []flow.Observation{one, {Outcome: flow.Timeout}}, 1},
		{"another source", []flow.Observation{{Outcome: flow.Connected, Answer: "one", Source: netip.MustParseAddrPort("10.0.0.1:1")}}, 1},
		{"a server without a name", slices.Repeat([]flow.Observation{{Outcome: flow.Connected}}, 200), 0},
	} {
		if got := f.Disagrees(row.seen); len(got) != row.want {
			t.Errorf("%s: got %q", row.name, got)
		}
	}
}

// On which other ports a program listens, and what it answers, is not in the plan: packets
// decide, whatever the claim.
func TestPaperDoesNotGuessPrograms(t *testing.T) {
	x := occupant.Exec{Name: "a", Argv: []string{"server"}, Listen: []occupant.Listen{{Protocol: "tcp", Port: 80}}}
	w := walk.New(&plan.Plan{Netns: []plan.Netns{{Name: "pod.a", Execs: []occupant.Exec{x}}}})
	for _, r := range []expect.Reach{{To: twin(81)}, {To: twin(81), Outcome: flow.Refused}, {To: twin(80), HTTP: &expect.HTTP{Path: "/", Status: 404}}, {To: twin(80), MTU: 1500}} {
		r.From, r.Outcome = []expect.Place{{Name: "a", Netns: "pod.a"}}, cmp.Or(r.Outcome, flow.Connected)
		outcome := r.Describe()
		f := Predict(&r, w)[0]
		if f.Unknown == "" || !f.OK || len(f.Outcomes) > 0 {
			t.Errorf("%s: got %+v", outcome, f)
		}
		if wrong := f.Disagrees([]flow.Observation{{Outcome: flow.Connected}}); len(wrong) > 0 {
			t.Errorf("%s: got %q", outcome, wrong)
		}
	}
	// On its ports it answers, as paper says: a claim to the contrary is wrong at once.
	r := expect.Reach{From: []expect.Place{{Name: "a", Netns: "pod.a"}}, To: twin(80), Outcome: flow.Connected, Answers: []string{"a"}}
	if f := Predict(&r, w)[0]; !f.OK || f.Unknown != "" {
		t.Errorf("on its port: %+v", f)
	}
	for _, protocol := range []flow.Protocol{flow.TCP, flow.UDP} {
		r.Outcome, r.Protocol = flow.Refused, protocol
		if f := Predict(&r, w)[0]; f.OK != (protocol == flow.UDP) {
			t.Errorf("refused over %s: %+v", protocol, f)
		}
		r.Answers = nil
	}
}
