package suite_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk/trace"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/expect/trial"
)

// claims are about one thing each: any two of a list contradict each other.
func claims(p trace.Prediction) [][]expect.Reach {
	var outcomes, answers, sources []expect.Reach
	for _, o := range []flow.Outcome{flow.Connected, flow.Refused, flow.Timeout, flow.Unreachable, flow.Reset} {
		outcomes = append(outcomes, expect.Reach{Outcome: o})
	}
	for _, weight := range []float64{1, 2} {
		outcomes = append(outcomes, expect.Reach{Mix: map[flow.Outcome]float64{flow.Connected: 1, flow.Timeout: weight}})
	}
	var agents []string
	for _, a := range p.Answers() {
		agents = append(agents, a.Value)
		answers = append(answers, expect.Reach{Answers: []string{a.Value}})
	}
	if len(agents) > 1 {
		answers = append(answers, expect.Reach{Answers: agents})
	}
	for _, s := range p.Sources() {
		sources = append(sources, expect.Reach{Sources: [][]netip.Prefix{{netip.PrefixFrom(s.Value, s.Value.BitLen())}}})
	}
	return [][]expect.Reach{outcomes, answers, sources}
}

// luckily is what packets show if of all that can happen only that happens which pleases
// the claim, as far as there is any.
func luckily(try *trial.Trial, p trace.Prediction) []flow.Observation {
	var pleasing []flow.Observation
	for _, r := range p.Results() {
		once := *try.Reach
		once.Sometimes = true
		o := flow.Observation{Outcome: r.Value.Outcome, Answer: r.Value.Answer, Node: r.Value.Node, TTL: r.Value.TTL, Status: r.Value.Status,
			Source: netip.AddrPortFrom(r.Value.Source, 40000)}
		if len(once.Answers) > 1 || trial.New(&once, nil).Judge(slices.Repeat([]flow.Observation{o}, len(trial.New(&once, nil).Flows()))).OK {
			pleasing = append(pleasing, o)
		}
	}
	if pleasing == nil {
		pleasing = []flow.Observation{{Outcome: flow.Timeout}}
	}
	seen := make([]flow.Observation, len(try.Flows()))
	for i := range seen {
		seen[i] = pleasing[i%len(pleasing)]
	}
	return seen
}

// contradictable is a random lab, every second one with policies.
func contradictable(seed uint64) script {
	if seed%2 == 0 {
		return randomScript(seed)
	}
	styles := policyStyles()
	return policyScript(seed, styles[seed/2%uint64(len(styles))])
}

// Two claims that contradict each other never both pass, on paper or with the luckiest
// packets, and a claim about every connection never passes if some may end otherwise.
func TestContradictingClaimsNeverBothPass(t *testing.T) {
	var pairs, mixed, passed atomic.Int64
	labs := seeds(40)
	t.Run("labs", func(t *testing.T) {
		for _, seed := range labs {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				b, err := contradictable(seed).build(t)
				if err != nil {
					t.Fatal(err)
				}
				d := rand.New(rand.NewPCG(seed, 1))
				all := questions(b.lab)
				d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				for i, q := range all[:min(len(all), 150)] {
					p := b.world.Walk(q.flow())
					if len(p.Outcomes()) > 1 {
						mixed.Add(1)
					} else if i > 25 {
						continue // mixed predictions are rare
					}
					for _, list := range claims(p) {
						var held []string
						for _, r := range list {
							r.From, r.To = []expect.Place{{Name: "from", Netns: q.flow().From}}, []expect.Target{{Name: "to", Addr: q.to}}
							r.Protocol = flow.Protocol(q.protocol)
							try := trial.New(&r, b.world)
							paper, packets := try.Forecasts[0].OK, try.Judge(luckily(try, p)).OK
							if packets && !paper {
								t.Errorf("-seed %d: %s: %s passes with packets, but not on paper", seed, q, r.Describe())
							}
							if paper {
								held = append(held, r.Describe())
								passed.Add(1)
							}
							if paper && r.Mix == nil && len(p.Outcomes()) > 1 {
								t.Errorf("-seed %d: %s: %s passes, but can be otherwise: %v", seed, q, r.Describe(), p.Outcomes())
							}
						}
						pairs.Add(int64(len(list) * (len(list) - 1) / 2))
						if len(held) > 1 {
							t.Errorf("-seed %d: %s: all of these pass: %q", seed, q, held)
						}
					}
				}
			})
		}
	})
	t.Logf("%d pairs of claims, %d claims that hold, %d mixed predictions", pairs.Load(), passed.Load(), mixed.Load())
	if len(labs) > 1 && (pairs.Load() < 5000 || passed.Load() == 0 || mixed.Load() == 0) {
		t.Error("too few to mean anything")
	}
}
