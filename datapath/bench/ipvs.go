//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// ipvs compares programming many services with IPVS and with iptables, and connections
// through the last of them, on the same kernel. A kernel without IPVS gets one row that
// says so.
func ipvs(ctx context.Context, o Options) ([]Row, error) {
	var rows []Row
	for _, n := range []int{1000, 10000} {
		o.Progress(fmt.Sprintf("%d services × 3 endpoints with ipvs and with iptables", n))
		virtual, err := compare(o.Rounds, nil, func() (sample, error) { return throughLast(ctx, "ipvs", n) })
		var lacks *engine.UnsupportedError
		if errors.As(err, &lacks) {
			return append(rows, Row{What: "ipvs against iptables", Got: "not here: netlab vm exec -- netlab bench --only ipvs --rounds 1", OK: true}), nil
		}
		if err != nil {
			return rows, err
		}
		rules, err := compare(o.Rounds, nil, func() (sample, error) { return throughLast(ctx, "iptables", n) })
		if err != nil {
			return rows, err
		}
		row := func(what string, of func(sample) time.Duration, text func(time.Duration) string) Row {
			ours, _, _ := medians(virtual, of)
			others, _, _ := medians(rules, of)
			return Row{What: what, Netlab: text(ours), Floor: text(others), Got: fmt.Sprintf("%.2f ×", float64(ours)/float64(others)), OK: true}
		}
		rows = append(rows,
			row(fmt.Sprintf("%d services × 3 endpoints with ipvs, against iptables", n), up, milliseconds),
			row(fmt.Sprintf("one endpoint of %d services changes, ipvs against iptables", n), edit, milliseconds),
			row(fmt.Sprintf("a connection through the last of %d services, ipvs against iptables", n),
				func(s sample) time.Duration { return s.connection }, microseconds))
	}
	return rows, nil
}

// throughLast times a proxy mode: to program all services, to change one endpoint, and
// for one connection through the last service, from the node itself.
func throughLast(ctx context.Context, mode string, n int) (got sample, err error) {
	specs := [2]*topology.Spec{}
	for variant := range specs {
		specs[variant] = manyServices(n, variant)
		specs[variant].Proxy.Mode = set(mode)
		withPod(specs[variant])
	}
	lab, before, err := compile(specs[0])
	if err != nil {
		return got, err
	}
	_, after, err := compile(specs[1])
	if err != nil {
		return got, err
	}
	running, err := engine.Start(ctx, "")
	if err != nil {
		return got, err
	}
	defer running.Abandon()
	started := time.Now()
	if err := apply(ctx, running, before); err != nil {
		return got, err
	}
	got.up = time.Since(started)
	got.connection, err = connect(ctx, running, flow.Flow{From: lab.Nodes[0].Netns(), To: lastService(lab), Within: 10 * time.Second}, 1)
	if err != nil {
		return got, fmt.Errorf("%s, %d services: the last one: %w", mode, n, err)
	}
	started = time.Now()
	err = apply(ctx, running, after)
	got.edit = time.Since(started)
	return got, err
}

// withPod adds a pod and a service for it, last by name.
func withPod(spec *topology.Spec) {
	spec.Pods = append(spec.Pods, topology.PodSpec{Block: "web", Labels: map[string]string{"app": "web"},
		Ports: []topology.PortSpec{{Name: "http", Port: set(80)}}})
	spec.Services = append(spec.Services, topology.ServiceSpec{Name: "zz-last", Selector: map[string]string{"app": "web"},
		Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80)}}})
}
