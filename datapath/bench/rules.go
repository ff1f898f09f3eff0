//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/topology"
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

// rules compares programming one node with bare runs of iptables-restore.
func rules(n int) func(context.Context, Options) ([]Row, error) {
	return func(ctx context.Context, o Options) ([]Row, error) {
		o.Progress(fmt.Sprintf("%d services × 3 endpoints on one node", n))
		return rulesOf(ctx, n, o.Rounds)
	}
}

func rulesOf(ctx context.Context, n, rounds int) ([]Row, error) {
	bare := order{Shape: Shape{Nodes: 1}}
	done, err := bare.withRules(manyServices(n, 0))
	defer done()
	if err != nil {
		return nil, err
	}
	if err := bare.withEdit(n); err != nil {
		return nil, err
	}
	list, err := compare(rounds, &bare, func() (sample, error) { return programRules(ctx, n) })
	if err != nil {
		return nil, err
	}
	explained, err := explain(n)
	if err != nil {
		return nil, err
	}
	return []Row{
		ratioRow(fmt.Sprintf("%d services × 3 endpoints on one node, compiling included", n), list, up, 1.3),
		ratioRow(fmt.Sprintf("one endpoint of %d services changes", n), list, edit, 2),
		{What: fmt.Sprintf("explain among %d services", n), Netlab: milliseconds(explained), Got: milliseconds(explained),
			Goal: "≤ 50 ms", OK: explained <= 50*time.Millisecond},
	}, nil
}

// withEdit makes the floor change one endpoint.
func (o *order) withEdit(n int) error {
	_, before, err := compile(manyServices(n, 0))
	if err != nil {
		return err
	}
	_, after, err := compile(manyServices(n, 1))
	if err != nil {
		return err
	}
	edits := plan.Diff(before, after).Edit
	if len(edits) != 1 {
		return fmt.Errorf("changing one endpoint changes %d namespaces", len(edits))
	}
	o.Edit, err = o.file("edit", iptables.RestoreText(edits[0].Tables, false))
	return err
}

// programRules times everything from the spec on, and the change of one endpoint from
// its plan on.
func programRules(ctx context.Context, n int) (got sample, err error) {
	started := time.Now()
	_, lab, err := start(ctx, manyServices(n, 0))
	if err != nil {
		return got, err
	}
	defer lab.Abandon()
	got.up = time.Since(started)
	_, after, err := compile(manyServices(n, 1))
	if err != nil {
		return got, err
	}
	started = time.Now()
	err = apply(ctx, lab, after)
	got.edit = time.Since(started)
	return got, err
}

// explain times the walk of one packet to the last service, including rendering.
func explain(n int) (time.Duration, error) {
	lab, p, err := compile(manyServices(n, 0))
	if err != nil {
		return 0, err
	}
	f := flow.Flow{From: lab.Nodes[0].Netns(), To: lastService(lab), Protocol: flow.TCP, Within: time.Second}
	started := time.Now()
	if text := render.Text(walk.New(p).Walk(f), render.Brief); len(text) == 0 {
		return 0, errors.New("nothing explained")
	}
	return time.Since(started), nil
}

func lastService(lab *topology.Lab) netip.AddrPort {
	return netip.AddrPortFrom(lab.Services[len(lab.Services)-1].ClusterIPs[0], 80)
}
