package suite_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
)

var damageRounds = flag.Int("rounds", 32, "how often a running lab is damaged")

// perLab is how often one lab is damaged, and asked how many connections are tried each time.
const (
	perLab     = 8
	connection = 24
)

// Whatever is done to a running lab: if a connection differs from its prediction, the lab has
// drifted, and the next apply repairs all of it.
func TestNoDamageGoesUnnoticed(t *testing.T) {
	for _, seed := range seeds((*damageRounds + perLab - 1) / perLab) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			b, err := randomScript(seed).build(t)
			if err != nil {
				t.Fatal(err)
			}
			v := &victim{built: b, running: b.start(t), rand: rand.New(rand.NewPCG(seed, 3))}
			v.plan = b.outspoken()
			v.asked = v.quick(t, questions(b.lab))
			for range min(perLab, *damageRounds) {
				if v.round(t); t.Failed() {
					return
				}
			}
		})
	}
}

// victim is a running lab that is damaged and repaired.
type victim struct {
	*built
	running *engine.Client
	rand    *rand.Rand
	asked   []question // which succeed without damage
}

// quick chooses questions that are answered at once: what is expected to time out takes too
// long, and no damage that lets it through is likely.
func (v *victim) quick(t *testing.T, all []question) []question {
	t.Helper()
	v.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = slices.DeleteFunc(all, func(q question) bool {
		return slices.ContainsFunc(v.meaning(q), func(r flow.Result) bool { return r.Outcome == flow.Timeout })
	})
	return all[:min(len(all), connection)]
}

// patience is how long to wait for an answer: a second and third time, because the machine may
// be busy.
var patience = []time.Duration{150 * time.Millisecond, 800 * time.Millisecond, 2500 * time.Millisecond}

// wrong are the questions with an answer that is not the predicted one, asked so many times.
func (v *victim) wrong(t *testing.T, times int) map[question][]flow.Result {
	t.Helper()
	asked := v.asked
	var wrong map[question][]flow.Result
	for _, within := range patience[:times] {
		if wrong = v.observe(t, v.running, asked, within); len(wrong) == 0 {
			break
		}
		asked = slices.DeleteFunc(slices.Clone(asked), func(q question) bool { return wrong[q] == nil })
	}
	return wrong
}

// fromAnother reports whether only the address that the server saw is another. Where masquerading
// has no address of the link to choose from, as on lo, the kernel takes that of the first link,
// and one that was made again is the last.
func (v *victim) fromAnother(q question, results []flow.Result) bool {
	bare := func(r flow.Result) flow.Result { r.Source = netip.Addr{}; return r.Core() }
	return !slices.ContainsFunc(results, func(r flow.Result) bool {
		return !slices.ContainsFunc(v.meaning(q), func(m flow.Result) bool { return bare(m) == bare(r) })
	})
}

func (v *victim) drift(t *testing.T) []string {
	t.Helper()
	have, want, err := v.running.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return plan.Drift(have, want)
}

func (v *victim) round(t *testing.T) {
	t.Helper()
	var done []string
	for range 1 + v.rand.IntN(3) {
		n := &v.plan.Netns[v.rand.IntN(len(v.plan.Netns))]
		command := ""
		for command == "" {
			command = damage(v.rand, v.plan, n)
		}
		code, err := v.running.Exec(t.Context(), engine.Command{Netns: n.Name, Argv: []string{"sh", "-c", command}, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}})
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, fmt.Sprintf("%s: %s (%d)", n.Name, command, code))
	}
	tell := func(format string, args ...any) {
		t.Helper()
		t.Errorf("-seed %s: after\n  %s\n%s", t.Name()[strings.LastIndexByte(t.Name(), '/')+1:], strings.Join(done, "\n  "), fmt.Sprintf(format, args...))
	}
	drift := v.drift(t)
	t.Logf("%s\n    %s", strings.Join(done, "\n"), strings.Join(drift, "\n    "))
	if len(drift) == 0 {
		for q, r := range v.wrong(t, len(patience)) {
			if d := v.drift(t); len(d) == 0 {
				tell("nothing is noticed, but %s", v.dispute(q, r))
			}
			return
		}
	}
	if _, err := v.running.Apply(t.Context(), v.plan, engine.Meta{}, false); err != nil {
		tell("noticed\n  %s\nbut the repair fails: %v", strings.Join(drift, "\n  "), err)
		return
	}
	if left := v.drift(t); len(left) > 0 {
		tell("noticed\n  %s\nbut the repair leaves\n  %s", strings.Join(drift, "\n  "), strings.Join(left, "\n  "))
		return
	}
	wrong := v.wrong(t, len(patience))
	if slices.ContainsFunc(drift, func(line string) bool { return strings.Contains(line, ": link ") }) {
		maps.DeleteFunc(wrong, v.fromAnother)
	}
	for q, r := range wrong {
		tell("noticed\n  %s\nand repaired, but %s", strings.Join(drift, "\n  "), v.dispute(q, r))
		return
	}
}
