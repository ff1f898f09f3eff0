package walk_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/scenarios"
)

func TestMain(m *testing.M) {
	engine.Main() // this program is also the engine of the labs under test
	os.Exit(m.Run())
}

// TestKernelAgreesOnScenarios sends every flow of every expectation, and compares
// what is seen with what was predicted.
func TestKernelAgreesOnScenarios(t *testing.T) {
	paths, err := scenarios.Find([]string{"../../scenarios"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		s, diags := scenarios.Load(path, scenarios.Options{})
		if diags.HasErrors() {
			t.Errorf("%s: %s", path, diags.JSON())
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			p, err := datapath.Compile(s.Lab)
			if err != nil {
				t.Fatal(err)
			}
			var flows []flow.Flow
			for _, e := range s.Expects {
				flows = append(flows, e.Flows()...)
			}
			compare(t, p, flows)
		})
	}
}

// patience is how long what is seen may differ: while many labs are built, the
// kernel loses packets of new links for a moment.
const patience = 15 * time.Second

// compare builds a lab and fails for each kind of flow of which something else is
// seen than predicted.
func compare(t *testing.T, p *plan.Plan, flows []flow.Flow) {
	t.Helper()
	running := start(t, p)
	world := walk.New(p)
	flows = slices.Clone(flows)
	for i := range flows {
		flows[i].Within = flow.Stretched(cmp.Or(flows[i].Within, time.Second), flow.TimeScale())
	}
	began := time.Now()
	for {
		wrong := map[flow.Flow]string{}
		groups := observe(t, running, flows)
		for f, seen := range groups {
			if text := disagreement(world.Walk(f), seen); text != "" {
				wrong[f] = text
			}
		}
		if len(wrong) == 0 {
			return
		}
		if time.Since(began) > patience {
			for _, text := range wrong {
				t.Error(text)
			}
			return
		}
		flows = slices.DeleteFunc(flows, func(f flow.Flow) bool { return wrong[f] == "" })
	}
}

// observe dials, and returns what was seen of each flow.
func observe(t *testing.T, running *engine.Client, flows []flow.Flow) map[flow.Flow][]flow.Seen {
	t.Helper()
	seen, err := running.Probe(t.Context(), flows)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[flow.Flow][]flow.Seen{}
	for i, s := range seen {
		groups[flows[i]] = append(groups[flows[i]], s)
	}
	return groups
}

// disagreement says how what was seen of a flow differs from its prediction. An
// end that nobody predicted is wrong; so is one that is missing where it would be
// missing once in a billion times by chance.
func disagreement(p walk.Prediction, seen []flow.Seen) string {
	var wrong []string
	met := map[flow.End]bool{}
	for _, s := range seen {
		if met[s.End()] {
			continue
		}
		met[s.End()] = true
		if !p.Allows(s.End()) {
			wrong = append(wrong, fmt.Sprintf("observed: %s %s", s.End(), s.Err))
		}
	}
	for _, e := range p.Ends() {
		if !met[e.Value] && math.Pow(1-e.Probability, float64(len(seen))) < 1e-9 {
			wrong = append(wrong, fmt.Sprintf("not observed in %d connections: %s", len(seen), e.Value))
		}
	}
	if wrong == nil {
		return ""
	}
	return strings.Join(wrong, "\n") + "\n" + p.Text(walk.Brief)
}

// start builds the lab of a plan.
func start(t *testing.T, p *plan.Plan) *engine.Client {
	t.Helper()
	running, err := engine.Start(t.Context(), "")
	var lacks *engine.UnsupportedError
	if errors.As(err, &lacks) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := running.Apply(t.Context(), p, engine.Meta{}, false); errors.As(err, &lacks) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return running
}

// TestKernelAgreesOnExams asks the kernel what TestPredictions asks on paper.
func TestKernelAgreesOnExams(t *testing.T) {
	for _, e := range exams() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			l := e.build(t)
			world := walk.New(l.plan)
			var flows []flow.Flow
			for _, c := range e.cells {
				f := l.flow(t, c.from, c.to)
				for range connections(world.Walk(f)) {
					flows = append(flows, f)
				}
			}
			compare(t, l.plan, flows)
		})
	}
}

// connections is how many it takes to see all ends of a prediction. A router without a
// route may tell a sender so only once a second (ip_error in net/ipv4/route.c; whether it
// tells more in the beginning depends on the kernel).
func connections(p walk.Prediction) int {
	switch ends := p.Ends(); {
	case len(ends) > 1:
		return 60
	case len(ends) == 1 && ends[0].Value.Outcome == flow.Unreachable:
		return 1
	default:
		return 2
	}
}

// TestKernelAgreesOnRows asks the kernel what TestRows, TestSets, TestVirtualServers
// and TestNFTRows ask on paper.
func TestKernelAgreesOnRows(t *testing.T) {
	for _, r := range slices.Concat(rows(), setRows(), virtualRows(), nftRows()) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			p := r.plan()
			var flows []flow.Flow
			for range connections(walk.New(p).Walk(r.flow())) {
				flows = append(flows, r.flow())
			}
			compare(t, p, flows)
		})
	}
}

// TestKernelKeepsAClient asks the kernel what TestRecentKeepsAClient asks on paper.
func TestKernelKeepsAClient(t *testing.T) {
	t.Parallel()
	p, f := sticky()
	running := start(t, p)
	world := walk.New(p)
	var state *walk.State
	for i := range 20 {
		seen := observe(t, running, []flow.Flow{f})[f][0]
		prediction := world.WalkFrom(state, f)
		at := slices.IndexFunc(prediction.Branches, func(b walk.Branch) bool { return b.End == seen.End() })
		if at < 0 {
			t.Fatalf("connection %d: observed %s\n%s", i+1, seen.End(), prediction.Text(walk.Brief))
		}
		state = prediction.Branches[at].State
	}
}
