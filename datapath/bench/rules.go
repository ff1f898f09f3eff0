//go:build linux

package bench

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// manyServices is a lab of one node and that many services with three endpoints each,
// none of them pods: only the rules matter. The endpoint of the middle service moves
// with the variant.
func manyServices(n, variant int) *topology.Spec {
	spec := &topology.Spec{Name: "bench", Nodes: []topology.NodeSpec{{Name: "node1"}}}
	for i := range n {
		s := topology.ServiceSpec{Name: fmt.Sprintf("s%d", i), Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80)}}}
		for e := range 3 {
			last := 1 + e
			if i == n/2 && e == 0 {
				last = 10 + variant
			}
			s.Endpoints = append(s.Endpoints, topology.EndpointSpec{
				Address: set(netip.AddrFrom4([4]byte{100, byte(64 + i>>14), byte(i >> 6), byte(i<<2&0xff + last%4)})),
				Port:    set(8000 + last),
			})
		}
		spec.Services = append(spec.Services, s)
	}
	return spec
}

func set[T any](v T) topology.Opt[T] { return topology.Opt[T]{Value: v, Set: true} }

// compileSpec resolves and compiles a spec.
func compileSpec(spec *topology.Spec) (*plan.Plan, error) {
	lab, problems := resolve.Lab(spec, datapath.Catalogue())
	for _, p := range problems {
		if !p.Warning {
			return nil, fmt.Errorf("%s: %s", p.Summary, p.Detail)
		}
	}
	return datapath.Compile(lab)
}

// rules compares programming one node with bare runs of iptables-restore.
func rules(ctx context.Context, o Options) ([]Row, error) {
	var rows []Row
	for _, n := range []int{1000, 10000} {
		o.Progress(fmt.Sprintf("%d services × 3 endpoints on one node", n))
		more, err := rulesOf(ctx, n, o.Rounds)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func rulesOf(ctx context.Context, n, rounds int) ([]Row, error) {
	dir, err := os.MkdirTemp("", "netlab-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	o, err := ruleFiles(dir, n)
	if err != nil {
		return nil, err
	}
	var ups, edits, bareUps, bareEdits []time.Duration
	var upRatios, editRatios []float64
	for range rounds {
		bare, err := runFloor(o)
		if err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
		settle()
		up, edit, err := programRules(ctx, n)
		if err != nil {
			return nil, err
		}
		settle()
		ups, edits, bareUps, bareEdits = append(ups, up), append(edits, edit), append(bareUps, bare.up), append(bareEdits, bare.edit)
		upRatios = append(upRatios, float64(up)/float64(bare.up))
		editRatios = append(editRatios, float64(edit)/float64(bare.edit))
	}
	rows := []Row{
		ratioRow(fmt.Sprintf("%d services × 3 endpoints on one node, compiling included", n), Median(ups), Median(bareUps), Median(upRatios), 1.3),
		ratioRow(fmt.Sprintf("one endpoint of %d services changes", n), Median(edits), Median(bareEdits), Median(editRatios), 2),
	}
	explained, err := explain(n)
	if err != nil {
		return nil, err
	}
	return append(rows, Row{What: fmt.Sprintf("explain among %d services", n), Netlab: milliseconds(explained), Got: milliseconds(explained),
		Goal: "≤ 50 ms", OK: explained <= 50*time.Millisecond}), nil
}

// ruleFiles writes the rules of the lab, and those of its change.
func ruleFiles(dir string, n int) (order, error) {
	o := order{Shape: Shape{Nodes: 1}, Rules: []string{filepath.Join(dir, "all")}, Edit: filepath.Join(dir, "edit")}
	before, err := compileSpec(manyServices(n, 0))
	if err != nil {
		return o, err
	}
	after, err := compileSpec(manyServices(n, 1))
	if err != nil {
		return o, err
	}
	for _, s := range before.Netns {
		if s.Kind == plan.Node {
			err = os.WriteFile(o.Rules[0], []byte(iptables.RestoreText(iptables.Create(s.Tables), false)), 0o600)
		}
	}
	if err != nil {
		return o, err
	}
	edits := plan.Diff(before, after).Edit
	if len(edits) != 1 {
		return o, fmt.Errorf("changing one endpoint changes %d namespaces", len(edits))
	}
	return o, os.WriteFile(o.Edit, []byte(iptables.RestoreText(edits[0].Tables, false)), 0o600)
}

// programRules times everything from the spec on, and the change of one endpoint from
// its plan on.
func programRules(ctx context.Context, n int) (up, edit time.Duration, err error) {
	started := time.Now()
	before, err := compileSpec(manyServices(n, 0))
	if err != nil {
		return 0, 0, err
	}
	lab, err := engine.Start(ctx, "")
	if err != nil {
		return 0, 0, err
	}
	defer lab.Abandon()
	if _, err = lab.Apply(ctx, before, engine.Meta{}, false); err != nil {
		return 0, 0, err
	}
	up = time.Since(started)
	after, err := compileSpec(manyServices(n, 1))
	if err != nil {
		return 0, 0, err
	}
	started = time.Now()
	_, err = lab.Apply(ctx, after, engine.Meta{}, false)
	return up, time.Since(started), err
}

// explain times the walk of one packet to the last service, including rendering.
func explain(n int) (time.Duration, error) {
	lab, _ := resolve.Lab(manyServices(n, 0), datapath.Catalogue())
	p, err := datapath.Compile(lab)
	if err != nil {
		return 0, err
	}
	last := lab.Services[len(lab.Services)-1]
	started := time.Now()
	text := render.Text(walk.New(p).Walk(flowTo(lab.Nodes[0].Netns(), netip.AddrPortFrom(last.ClusterIPs[0], 80))), render.Brief)
	if len(text) == 0 {
		return 0, fmt.Errorf("nothing explained")
	}
	return time.Since(started), nil
}

func flowTo(from string, to netip.AddrPort) flow.Flow {
	return flow.Flow{From: from, To: to, Protocol: flow.TCP, Within: time.Second}
}
