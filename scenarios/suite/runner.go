//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/topology"
)

// Options say how labs are run.
type Options struct {
	Parallel int // labs at once; 0: by the number of cores (slow.go)
	// Thorough also applies every lab twice and compares the kernel with the plan.
	Thorough bool
	// Strict fails expectations of which a connection had to be dialed again.
	Strict bool
	// Finish is called with every lab whose expectations are judged, while it still runs;
	// nil: it is taken down.
	Finish func(ctx context.Context, lab *Lab, running *engine.Client, failed bool) error
	// Name gives labs names, so that other commands find them while they run;
	// nil: they have none.
	Name func(*Lab) string
	// Meta is what a lab reports about itself; nil: nothing.
	Meta func(*Lab) engine.Meta
}

// Runner runs labs and keeps their results.
type Runner struct {
	options Options
	runs    []*run
	start   sync.Once
	started time.Time
	ended   sync.WaitGroup
	cancel  context.CancelFunc
}

// run is one lab under test. Each channel is closed when the event it is named after
// has happened.
type run struct {
	lab     *Lab
	up      chan struct{}
	upErr   error
	done    []chan struct{} // per expectation
	results []reports.Result
	wire    []reports.Wire // of a variation, when its expectations are judged
	down    chan struct{}
	downErr error
	// lost is why the lab ended while it was observed: it failed, not its expectations.
	lost  atomic.Pointer[error]
	setup reports.Result
	paper map[*topology.Fault]world // to predict from
	// building is the lab while it comes up.
	building atomic.Pointer[engine.Client]
}

// New prepares a run of the labs; nothing starts before Start.
func New(labs []*Lab, o Options) *Runner {
	if o.Parallel <= 0 {
		o.Parallel = labsPerCore() * runtime.GOMAXPROCS(0)
	}
	r := &Runner{options: o}
	scale := flow.TimeScale()
	for _, lab := range labs {
		lab = patient(lab, scale)
		x := &run{lab: lab, up: make(chan struct{}), down: make(chan struct{}), paper: worldsOf(lab)}
		for range lab.Scenario.Expects {
			x.done = append(x.done, make(chan struct{}))
		}
		x.results = make([]reports.Result, len(x.done))
		r.runs = append(r.runs, x)
	}
	return r
}

// Start begins to run the labs, as many at once as the options say.
func (r *Runner) Start(ctx context.Context) {
	r.start.Do(func() {
		r.started = time.Now()
		ctx, r.cancel = context.WithCancel(ctx)
		slots := make(chan struct{}, r.options.Parallel)
		queue := make(chan *run)
		r.ended.Go(func() {
			defer close(queue)
			for _, x := range r.runs {
				slots <- struct{}{}
				queue <- x
			}
		})
		for range min(r.options.Parallel, len(r.runs)) {
			r.ended.Go(func() {
				for x := range queue {
					r.run(ctx, x)
					<-slots
				}
			})
		}
	})
}

// Building are the labs that are coming up.
func (r *Runner) Building() []*engine.Client {
	var list []*engine.Client
	for _, x := range r.runs {
		if lab := x.building.Load(); lab != nil {
			list = append(list, lab)
		}
	}
	return list
}

// Wait waits until all labs are gone.
func (r *Runner) Wait() { r.ended.Wait() }

// Stop ends all running labs and waits until they are gone.
func (r *Runner) Stop() {
	if r.cancel != nil {
		r.cancel()
	}
	r.ended.Wait()
}

// Report is what is known so far.
func (r *Runner) Report() reports.Report {
	report := reports.Report{Duration: time.Since(r.started)}
	for _, x := range r.runs {
		if closed(x.up) && x.upErr != nil && x.setup.Status != "" {
			report.Results = append(report.Results, x.setup)
		}
		for i, done := range x.done {
			if closed(done) && x.results[i].Status != "" {
				report.Results = append(report.Results, x.results[i])
			} else {
				report.NotRun++
			}
		}
		if closed(x.down) {
			report.Wires = append(report.Wires, x.wire...)
		}
		if closed(x.down) && x.downErr != nil && !errors.Is(x.downErr, context.Canceled) {
			report.Results = append(report.Results, x.failure(x.ending(), x.downErr))
		}
	}
	return report
}

// ending names the end of a lab, which may come too early.
func (x *run) ending() string {
	if x.lost.Load() != nil {
		return "stays up"
	}
	return "goes down"
}

func closed(event <-chan struct{}) bool {
	select {
	case <-event:
		return true
	default:
		return false
	}
}

// run takes one lab through its life.
func (r *Runner) run(ctx context.Context, x *run) {
	defer close(x.down)
	lab, err := r.build(ctx, x)
	x.upErr = err
	if err != nil && ctx.Err() == nil {
		x.setup = x.failure("comes up", err)
	}
	close(x.up)
	if err != nil {
		x.abort(ctx, err)
		return
	}
	r.observe(ctx, x, lab, nil)
	x.measureWire(ctx, lab)
	x.downErr = r.breakAndObserve(ctx, x, lab)
	if lost := x.lost.Load(); lost != nil && ctx.Err() == nil {
		x.downErr = *lost
		lab.Abandon()
		return
	}
	failed := slices.ContainsFunc(x.results, func(r reports.Result) bool { return r.Status == reports.Failed || r.Status == reports.Disagreed })
	if r.options.Finish != nil && ctx.Err() == nil {
		x.downErr = errors.Join(x.downErr, r.options.Finish(ctx, x.lab, lab, failed))
		return
	}
	if ctx.Err() != nil {
		lab.Abandon()
		return
	}
	x.downErr = errors.Join(x.downErr, lab.Down(ctx))
}

// abort sets the result of every expectation of a lab that cannot be observed. What ctx
// ended has no result.
func (x *run) abort(ctx context.Context, err error) {
	for i, e := range x.lab.Scenario.Expects {
		x.results[i] = x.lab.result(e)
		if ctx.Err() == nil {
			notRun(&x.results[i], err, "the lab did not come up")
		}
		close(x.done[i])
	}
}

// notRun sets a result to failed, or to skipped where the kernel lacks a feature.
func notRun(result *reports.Result, err error, failure string) {
	result.Status, result.Failure = reports.Failed, failure
	var lacks *engine.UnsupportedError
	if errors.As(err, &lacks) {
		result.Status, result.Failure, result.Reason = reports.Skipped, "", err.Error()
	}
	if reason := notInstalled(err); reason != "" {
		result.Status, result.Failure, result.Reason = reports.Skipped, "", reason
	}
}

// notInstalled says which package a lab lacks; empty: none, or the program is in no package
// that is known here, and probably misspelt.
func notInstalled(err error) string {
	var program *inside.ProgramError
	if !errors.As(err, &program) {
		return ""
	}
	name := filepath.Base(program.Missing)
	pkg := debian.Package(name)
	if pkg == "" {
		return ""
	}
	return fmt.Sprintf("this machine lacks %s: apt-get install %s", name, pkg)
}

func (r *Runner) build(ctx context.Context, x *run) (*engine.Client, error) {
	name := ""
	if r.options.Name != nil {
		name = r.options.Name(x.lab)
	}
	lab, err := engine.Start(ctx, name)
	if err != nil {
		return nil, err
	}
	meta := r.meta(x)
	x.building.Store(lab)
	_, err = lab.Apply(ctx, x.lab.Plan, meta, false)
	x.building.Store(nil)
	if err == nil && r.options.Thorough {
		err = unchanged(ctx, lab, x.lab.Plan, meta)
	}
	if err != nil {
		lab.Abandon()
		return nil, err
	}
	return lab, nil
}

// meta is what the lab reports about itself.
func (r *Runner) meta(x *run) (meta engine.Meta) {
	if r.options.Meta != nil {
		meta = r.options.Meta(x.lab)
	}
	return meta
}

// unchanged applies a lab a second time: nothing may change, and the kernel must be as
// planned.
func unchanged(ctx context.Context, running *engine.Client, p *plan.Plan, meta engine.Meta) error {
	again, err := running.Apply(ctx, p, meta, true)
	if err != nil {
		return fmt.Errorf("apply again: %w", err)
	}
	if again.Summary != "" {
		return fmt.Errorf("applying twice changed something: %s\n%s", again.Summary, strings.Join(again.Lines, "\n"))
	}
	have, want, err := running.Read(ctx)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if drift := plan.Drift(have, want); len(drift) > 0 {
		return fmt.Errorf("the kernel is not as planned:\n%s", strings.Join(drift, "\n"))
	}
	return nil
}

func (x *run) failure(name string, err error) reports.Result {
	s := x.lab.Scenario
	result := reports.Result{Scenario: s.Name, Variation: s.Variation.String(), File: x.lab.Path, Name: name}
	why := err.Error()
	var program *inside.ProgramError
	if errors.As(err, &program) {
		why += "\n" + program.Remedy()
	}
	notRun(&result, err, why)
	return result
}
