//go:build linux

package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// Spec is a lab of a shape: a vxlan network, pods spread over nodes.
func (s Shape) Spec() *topology.Spec {
	spec := &topology.Spec{Name: "bench"}
	for i := range s.Nodes {
		spec.Nodes = append(spec.Nodes, topology.NodeSpec{Name: fmt.Sprintf("node%d", i+1)})
	}
	for i := range s.Clients {
		spec.Clients = append(spec.Clients, topology.ClientSpec{Name: fmt.Sprintf("client%d", i+1)})
	}
	for i := range s.Pods {
		pod := topology.PodSpec{Block: "p", Key: fmt.Sprint(i), Index: i, Node: set(fmt.Sprintf("node%d", i%s.Nodes+1))}
		if s.Services > 0 {
			pod.Labels = map[string]string{"set": fmt.Sprint(i / s.Endpoints)}
		}
		spec.Pods = append(spec.Pods, pod)
	}
	for i := range s.Services {
		spec.Services = append(spec.Services, topology.ServiceSpec{Name: fmt.Sprintf("s%d", i),
			Selector: map[string]string{"set": fmt.Sprint(i)},
			Ports:    []topology.ServicePortSpec{{Name: "http", Port: set(80)}}})
	}
	return spec
}

func set[T any](v T) topology.Opt[T] { return topology.Opt[T]{Value: v, Set: true} }

// compile resolves and compiles a spec. The plan has no accounting objects, which the bare
// programs would have to make first.
func compile(spec *topology.Spec) (*topology.Lab, *plan.Plan, error) {
	lab, problems := resolve.Lab(spec, datapath.Catalogue())
	if err := problems.Err(); err != nil {
		return nil, nil, err
	}
	p, err := datapath.Compile(lab)
	if err == nil {
		p.Uncount()
	}
	return lab, p, err
}

// start resolves, compiles and starts a lab. The caller must Abandon it.
func start(ctx context.Context, spec *topology.Spec) (*topology.Lab, *engine.Client, error) {
	lab, p, err := compile(spec)
	if err != nil {
		return nil, nil, err
	}
	running, err := engine.Start(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	if err := apply(ctx, running, p); err != nil {
		running.Abandon()
		return nil, nil, err
	}
	return lab, running, nil
}

func apply(ctx context.Context, lab *engine.Client, p *plan.Plan) error {
	_, err := lab.Apply(ctx, p, engine.Meta{}, false)
	return err
}

// sample is what one round measured; what it did not measure is 0.
type sample struct {
	compile, up, down time.Duration
	edit, check       time.Duration // of a change: until the reply, and until the lab may be used
	same              time.Duration // of up without a change
	connection        time.Duration
	throughput        uint64 // bits per second
	rss               int64  // of the engine, in bytes
}

func up(s sample) time.Duration   { return s.up }
func down(s sample) time.Duration { return s.down }
func edit(s sample) time.Duration { return s.edit }

// round is one of netlab, and one of what it is compared with.
type round struct{ netlab, floor sample }

// compare measures netlab, each time after the floor; a nil order means no floor.
func compare(rounds int, o *order, netlab func() (sample, error)) ([]round, error) {
	list := make([]round, rounds)
	for i := range list {
		var err error
		if o != nil {
			if list[i].floor, err = runFloor(*o); err != nil {
				return nil, fmt.Errorf("floor: %w", err)
			}
			settle()
		}
		if list[i].netlab, err = netlab(); err != nil {
			return nil, err
		}
		settle()
	}
	return list, nil
}

// settle lets the kernel finish destroying namespaces: whatever follows immediately
// would be slowed down by it.
func settle() { time.Sleep(500 * time.Millisecond) }

// median is the middle of a value of the rounds.
func median[T cmp.Ordered](rounds []round, of func(round) T) T {
	values := make([]T, 0, len(rounds))
	for _, r := range rounds {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// medians are those of a time of netlab, of the floor, and of their ratio.
func medians(rounds []round, of func(sample) time.Duration) (netlab, floor time.Duration, ratio float64) {
	return median(rounds, func(r round) time.Duration { return of(r.netlab) }),
		median(rounds, func(r round) time.Duration { return of(r.floor) }),
		median(rounds, func(r round) float64 { return float64(of(r.netlab)) / float64(of(r.floor)) })
}

// ratioRow compares a time of netlab with that of the floor.
func ratioRow(what string, rounds []round, of func(sample) time.Duration, goal float64) Row {
	netlab, floor, ratio := medians(rounds, of)
	return Row{What: what, Netlab: milliseconds(netlab), Floor: milliseconds(floor), Got: fmt.Sprintf("%.2f ×", ratio),
		Goal: fmt.Sprintf("≤ %.1f ×", goal), OK: ratio <= goal}
}

// compareShape measures a lab of a shape.
func compareShape(ctx context.Context, s Shape, rounds int) ([]round, error) {
	o := order{Shape: s}
	if s.Services > 0 {
		done, err := o.withRules(s.Spec())
		defer done()
		if err != nil {
			return nil, err
		}
	}
	return compare(rounds, &o, func() (sample, error) { return runNetlab(ctx, s.Spec()) })
}

// runNetlab times netlab with a lab: resolve, compile, start the engine and
// apply; then down until the links are gone.
func runNetlab(ctx context.Context, spec *topology.Spec) (got sample, err error) {
	started := time.Now()
	_, lab, err := start(ctx, spec)
	if err != nil {
		return got, err
	}
	defer lab.Abandon()
	got.up = time.Since(started)
	info, err := lab.Info(ctx)
	if err != nil {
		return got, err
	}
	got.rss = info.RSS
	started = time.Now()
	err = lab.Down(ctx)
	got.down = time.Since(started)
	return got, err
}

// withRules makes the floor load the rules and sets of a lab's nodes, from files that
// done removes.
func (o *order) withRules(spec *topology.Spec) (done func(), err error) {
	_, p, err := compile(spec)
	if err != nil {
		return func() {}, err
	}
	if o.dir, err = os.MkdirTemp("", "netlab-bench-"); err != nil {
		return func() {}, err
	}
	done = func() { os.RemoveAll(o.dir) }
	for _, n := range p.Netns {
		if n.Kind != plan.Node {
			continue
		}
		file, err := o.file(n.Name+".rules", iptables.RestoreText(iptables.Create(n.Tables), false))
		if err != nil {
			return done, err
		}
		o.Rules = append(o.Rules, file)
		if len(n.Sets) == 0 {
			continue
		}
		var text strings.Builder
		for _, s := range n.Sets {
			fmt.Fprintf(&text, "create %s %s family inet\n", s.Name, s.Type)
			for _, m := range s.Members() {
				fmt.Fprintf(&text, "add %s %s\n", s.Name, m)
			}
		}
		if file, err = o.file(n.Name+".sets", text.String()); err != nil {
			return done, err
		}
		o.Sets = append(o.Sets, file)
	}
	return done, nil
}

// file writes a file that the floor reads, and returns its path.
func (o *order) file(name, text string) (string, error) {
	path := filepath.Join(o.dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}
