//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// ipvs compares programming many services with IPVS and with iptables, and connections
// through the last of them, on the same kernel. A kernel without IPVS gets one row that
// says so.
func ipvs(ctx context.Context, o Options) ([]Row, error) {
	var rows []Row
	for _, n := range []int{1000, 10000} {
		o.Progress(fmt.Sprintf("%d services × 3 endpoints with ipvs and with iptables", n))
		virtual, err := throughLast(ctx, "ipvs", n, o.Rounds)
		var lacks *engine.UnsupportedError
		if errors.As(err, &lacks) {
			return append(rows, Row{What: "ipvs against iptables", Got: "not here: netlab vm exec -- netlab bench --only ipvs --rounds 1", OK: true}), nil
		}
		if err != nil {
			return rows, err
		}
		rules, err := throughLast(ctx, "iptables", n, o.Rounds)
		if err != nil {
			return rows, err
		}
		row := func(what string, ours, others time.Duration, text func(time.Duration) string) Row {
			return Row{What: what, Netlab: text(ours), Floor: text(others), Got: fmt.Sprintf("%.2f ×", float64(ours)/float64(others)), OK: true}
		}
		rows = append(rows,
			row(fmt.Sprintf("%d services × 3 endpoints with ipvs, against iptables", n), virtual.up, rules.up, milliseconds),
			row(fmt.Sprintf("one endpoint of %d services changes, ipvs against iptables", n), virtual.edit, rules.edit, milliseconds),
			row(fmt.Sprintf("a connection through the last of %d services, ipvs against iptables", n), virtual.connection, rules.connection, microseconds))
	}
	return rows, nil
}

// through is how long a proxy mode took: to program all services, to change one
// endpoint, and for one connection through the last service, from the node itself.
type through struct{ up, edit, connection time.Duration }

func throughLast(ctx context.Context, mode string, n, rounds int) (through, error) {
	var ups, edits, connections []time.Duration
	for range rounds {
		t, err := once(ctx, mode, n)
		if err != nil {
			return through{}, err
		}
		settle()
		ups, edits, connections = append(ups, t.up), append(edits, t.edit), append(connections, t.connection)
	}
	return through{Median(ups), Median(edits), Median(connections)}, nil
}

func once(ctx context.Context, mode string, n int) (t through, err error) {
	specs := [2]*topology.Spec{}
	for variant := range specs {
		specs[variant] = manyServices(n, variant)
		specs[variant].Proxy.Mode = set(mode)
		withPod(specs[variant])
	}
	lab, _ := resolve.Lab(specs[0], datapath.Catalogue())
	before, err := datapath.Compile(lab)
	if err != nil {
		return t, err
	}
	after, err := compileSpec(specs[1])
	if err != nil {
		return t, err
	}
	running, err := engine.Start(ctx, "")
	if err != nil {
		return t, err
	}
	defer running.Abandon()
	started := time.Now()
	if _, err = running.Apply(ctx, before, engine.Meta{}, false); err != nil {
		return t, err
	}
	t.up = time.Since(started)
	flows := make([]flow.Flow, 1000)
	for i := range flows {
		flows[i] = flow.Flow{From: lab.Nodes[0].Netns(), To: netip.AddrPortFrom(lab.Services[len(lab.Services)-1].ClusterIPs[0], 80), Within: 10 * time.Second}
	}
	if _, err := running.Probe(ctx, flows[:10]); err != nil {
		return t, err
	}
	started = time.Now()
	seen, err := running.Probe(ctx, flows)
	t.connection = time.Since(started) / time.Duration(len(flows))
	if err != nil {
		return t, err
	}
	for _, s := range seen {
		if s.Outcome != flow.Connected {
			return t, fmt.Errorf("%s, %d services: the last one: %s", mode, n, s.Outcome)
		}
	}
	started = time.Now()
	_, err = running.Apply(ctx, after, engine.Meta{}, false)
	t.edit = time.Since(started)
	return t, err
}

// withPod adds a pod and a service for it, last by name.
func withPod(spec *topology.Spec) {
	spec.Pods = append(spec.Pods, topology.PodSpec{Block: "web", Labels: map[string]string{"app": "web"},
		Ports: []topology.PortSpec{{Name: "http", Port: set(80)}}})
	spec.Services = append(spec.Services, topology.ServiceSpec{Name: "zz-last", Selector: map[string]string{"app": "web"},
		Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80)}}})
}
