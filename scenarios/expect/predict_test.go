package expect

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
)

// twins is a host with two servers behind one address, chosen by a coin.
func twins() *walk.World {
	rule := func(t plan.Target, m ...plan.Match) plan.Rule { return plan.Rule{Matches: m, Target: t} }
	tcp := plan.Proto{Name: "tcp"}
	to := func(port uint16) plan.Target {
		return plan.DNAT{To: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)}
	}
	return walk.New(&plan.Plan{Netns: []plan.Netns{{
		Name: "client.a",
		Tables: []plan.Table{{Name: "nat", Chains: []plan.Chain{{Name: "OUTPUT", Policy: "ACCEPT", Rules: []plan.Rule{
			rule(to(1), tcp, plan.DPort{Port: 80}, plan.Random{Probability: 0.25}),
			rule(to(2), tcp, plan.DPort{Port: 80}),
		}}}}},
		Agents: []plan.Agent{{Name: "one", Listen: []plan.Listen{{Protocol: "tcp", Port: 1}}}, {Name: "two", Listen: []plan.Listen{{Protocol: "tcp", Port: 2}}}},
	}}})
}

func TestPredictJudgesTheClaim(t *testing.T) {
	self := Place{Name: "a", Netns: "client.a"}
	at := func(port uint16) []Target {
		return []Target{{Name: "there", Addr: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)}}
	}
	one := netip.MustParsePrefix("127.0.0.1/32")
	for _, row := range []struct {
		name  string
		reach Reach
		want  []string
	}{
		{"as claimed", Reach{To: at(80), Answers: []string{"one", "two"}, Sources: [][]netip.Prefix{{one}}}, nil},
		{"weights", Reach{To: at(80), Spread: &Spread{Tolerance: 0.01, Weights: map[string]float64{"one": 1, "two": 3}}}, nil},
		{"another outcome", Reach{To: at(81)}, []string{"refused, 100.0 %"}},
		{"refused as claimed", Reach{To: at(81), Outcome: flow.Refused}, nil},
		{"one too many", Reach{To: at(80), Answers: []string{"one"}}, []string{"two should not answer"}},
		{"one too few", Reach{To: at(80), Answers: []string{"one", "two", "three"}}, []string{"three cannot answer"}},
		{"another source", Reach{To: at(80), Sources: [][]netip.Prefix{{netip.MustParsePrefix("10.0.0.0/8")}}},
			[]string{"127.0.0.1 is not an allowed source", "127.0.0.1 is not an allowed source"}},
		{"unfair", Reach{To: at(80), Spread: &Spread{Tolerance: 0.1}}, []string{"two gets 75.0 % of the answers, not 50.0 %", "one gets 25.0 % of the answers, not 50.0 %"}},
		{"no such name", Reach{To: []Target{{Name: "nowhere", NotFound: true}}}, []string{"the name nowhere does not resolve"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.reach.From = []Place{self}
			got := row.reach.Predict(twins())
			if len(got) != 1 || !slices.Equal(got[0].Wrong, row.want) {
				t.Errorf("got %q, want %q", got[0].Wrong, row.want)
			}
		})
	}
}

func TestDisagreementIsNotFailure(t *testing.T) {
	r := Reach{From: []Place{{Name: "a", Netns: "client.a"}}, To: []Target{{Name: "there", Addr: netip.MustParseAddrPort("127.0.0.1:80")}}}
	f := r.Predict(twins())[0]
	loop := netip.MustParseAddrPort("127.0.0.1:4711")
	one := flow.Seen{Outcome: flow.Connected, Answer: "one", Source: loop}
	two := flow.Seen{Outcome: flow.Connected, Answer: "two", Source: loop}
	many := slices.Repeat([]flow.Seen{one}, 200)
	for _, row := range []struct {
		name string
		seen []flow.Seen
		want int
	}{
		{"as predicted", []flow.Seen{one, two}, 0},
		{"few connections leave one out", []flow.Seen{one}, 0},
		{"many do not", many, 1},
		{"timeout", []flow.Seen{one, {Outcome: flow.Timeout}}, 1},
		{"another source", []flow.Seen{{Outcome: flow.Connected, Answer: "one", Source: netip.MustParseAddrPort("10.0.0.1:1")}}, 1},
		{"a server without a name", slices.Repeat([]flow.Seen{{Outcome: flow.Connected}}, 200), 0},
	} {
		if got := f.Disagrees(row.seen); len(got) != row.want {
			t.Errorf("%s: got %q", row.name, got)
		}
	}
}
