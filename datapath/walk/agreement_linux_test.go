package walk_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
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
	"github.com/netlab/netlab/datapath/walk/memory"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/datapath/walk/trace"
	"github.com/netlab/netlab/scenarios/expect/trial"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

func TestMain(m *testing.M) {
	if os.Getenv(capturing) != "" {
		if err := printCaptured(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	engine.Main() // this binary is also the engine of the labs under test
	// Tests mostly wait for the kernel, but where the processor is emulated more labs at
	// once lose packets. The command line still overrides this.
	parallel := "4"
	if flow.TimeScale() > 1 {
		parallel = "2"
	}
	_ = flag.Set("test.parallel", parallel)
	os.Exit(m.Run())
}

// TestKernelAgreesOnScenarios sends every flow of every expectation, and compares what
// is observed with what was predicted.
func TestKernelAgreesOnScenarios(t *testing.T) {
	paths, err := source.Find([]string{"../../scenarios"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		s, diags := language.Load(path, language.Options{Catalogue: datapath.Catalogue()})
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
				for _, f := range trial.New(e, nil).Flows() {
					flows = append(flows, parts(f)...)
				}
			}
			queries := map[flow.Flow]bool{} // each once: hosts limit how often they refuse
			flows = slices.DeleteFunc(flows, func(f flow.Flow) bool {
				again := f.Protocol == flow.UDP && f.To.Port() == topology.DNSPort && queries[f]
				queries[f] = true
				return again
			})
			paper, err := datapath.OnPaper(s.Lab, p)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, walk.New(paper), p, flows)
		})
	}
}

// parts are the flows that a connection to a name consists of: queries, and itself if the name
// has an address. Any other flow is its only part.
func parts(f flow.Flow) (flows []flow.Flow) {
	if f.Lookup != nil {
		for _, server := range f.Lookup.Servers {
			flows = append(flows, flow.Flow{From: f.From, To: server, Protocol: flow.UDP, Within: f.Within})
		}
		f.Lookup = nil
	}
	if f.To.IsValid() {
		flows = append(flows, f)
	}
	return flows
}

// patience is how long observations may differ: while many labs are built, the kernel
// loses packets on new links for a moment, which is long on a busy machine. Only a test
// that fails waits that long.
const patience = time.Minute

// compare builds a lab and fails for each kind of flow whose observations differ from
// the prediction.
func compare(t *testing.T, p *plan.Plan, flows []flow.Flow) {
	t.Helper()
	agree(t, walk.New(p), p, flows)
}

// agree makes connections in the lab of a plan, and compares them with what is predicted in a
// world, which is another one where agents do the work.
func agree(t *testing.T, world *walk.World, p *plan.Plan, flows []flow.Flow) {
	t.Helper()
	running := start(t, p)
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

// observe dials, and returns the observations of each flow.
func observe(t *testing.T, running *engine.Client, flows []flow.Flow) map[flow.Flow][]flow.Observation {
	t.Helper()
	seen, err := running.Probe(t.Context(), flows)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[flow.Flow][]flow.Observation{}
	for i, s := range seen {
		groups[flows[i]] = append(groups[flows[i]], s)
	}
	return groups
}

// disagreement says how the observations of a flow differ from its prediction. A result
// that was not predicted is wrong; so is a missing one if chance would explain that
// less than once in a billion times.
func disagreement(p trace.Prediction, observations []flow.Observation) string {
	var wrong []string
	met := map[flow.Result]bool{}
	for _, s := range observations {
		if met[s.Result()] {
			continue
		}
		met[s.Result()] = true
		if !p.Allows(s.Result()) {
			wrong = append(wrong, fmt.Sprintf("observed: %s %s", s.Result().Full(), s.Err))
		}
	}
	kept := slices.ContainsFunc(p.Branches, func(b trace.Branch) bool { return b.State.Remembers() }) // on its first result
	for _, e := range p.Results() {
		if kept {
			break
		}
		seen := func(r flow.Result) bool { return r.Agrees(e.Value) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(met)), seen) && math.Pow(1-e.Probability, float64(len(observations))) < 1e-9 {
			wrong = append(wrong, fmt.Sprintf("not observed in %d connections: %s", len(observations), e.Value.Full()))
		}
	}
	if wrong == nil {
		return ""
	}
	return strings.Join(wrong, "\n") + "\n" + render.Text(p, render.Brief)
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

// TestKernelAgreesOnMatrices checks the cells of TestPredictions against the kernel.
func TestKernelAgreesOnMatrices(t *testing.T) {
	for _, m := range matrices() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			l := m.build(t)
			world := walk.New(l.plan)
			var flows []flow.Flow
			for _, c := range m.cells {
				f := l.flow(t, c.from, c.to)
				for range connections(world.Walk(f)) {
					flows = append(flows, f)
				}
			}
			compare(t, l.plan, flows)
		})
	}
}

// connections is how many it takes to see all results of a prediction. A router without
// a route may send only one ICMP error per second (ip_error in net/ipv4/route.c;
// whether it allows a burst at the start depends on the kernel).
func connections(p trace.Prediction) int {
	switch ends := p.Results(); {
	case len(ends) > 1:
		return 60
	case len(ends) == 1 && ends[0].Value.Outcome == flow.Unreachable:
		return 1
	default:
		return 2
	}
}

// TestKernelAgreesOnRows checks the rows of TestRows, TestSets, TestVirtualServers and
// TestNFTRows against the kernel.
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

// TestKernelKeepsAClient checks TestRecentKeepsAClient against the kernel.
func TestKernelKeepsAClient(t *testing.T) {
	t.Parallel()
	p, f := sticky()
	running := start(t, p)
	world := walk.New(p)
	var state *memory.State
	for i := range 20 {
		seen := observe(t, running, []flow.Flow{f})[f][0]
		prediction := world.WalkFrom(state, f)
		at := slices.IndexFunc(prediction.Branches, func(b trace.Branch) bool { return seen.Result().Agrees(b.Result) })
		if at < 0 {
			t.Fatalf("connection %d: observed %s\n%s", i+1, seen.Result(), render.Text(prediction, render.Brief))
		}
		state = prediction.Branches[at].State
	}
}
