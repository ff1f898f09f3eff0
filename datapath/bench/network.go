//go:build linux

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// How much is sent in one upload, in bytes: for a good second at most.
const (
	largeUpload  = 256 << 20
	shapedUpload = 64 << 20
	shapedRate   = 1_000_000_000
)

// claimed is what articles say that a pod network costs, next to what it does here.
func claimed(m topology.NetworkMode) string {
	switch {
	case m.Tunnel == topology.VXLANTunnel:
		return "; articles: 0.70 to 0.80"
	case m.Routed && m.Tunnel == topology.NoTunnel && !m.PodRoutes:
		return "; articles: 0.90"
	}
	return ""
}

// shapedGoal is what a mode may cost on a link of 1 Gbit/s, as a factor of the direct way:
// its headers, and nothing else.
func shapedGoal(m topology.NetworkMode) (least, most float64) {
	switch m.Tunnel {
	case topology.NoTunnel:
		return 0.97, 1.03
	case topology.VXLANTunnel:
		return 0.93, 0.985
	}
	return 0, 0
}

// path is what was measured on one way between two nodes.
type path struct {
	rate, shaped uint64 // bits per second
	latency      time.Duration
	cpu          float64 // seconds per Gbit
}

// podNetworks measures every pod network in which pods of two nodes reach each other, next
// to the direct way from node to node in the same lab. The engine is sender, receiver and,
// where the network has them, the programs of the tunnels, so that those compete with each
// other; package udptunnel has a benchmark of its own.
func podNetworks(ctx context.Context, o Options) ([]Row, error) {
	var rows []Row
	direct := path{}
	var plain, sealed path
	for _, m := range datapath.Catalogue().Networks {
		if !m.Routed {
			continue
		}
		o.Progress("pod network " + m.Name)
		got, alongside, err := measureNetwork(ctx, m, o.Rounds)
		if lacks := (*engine.UnsupportedError)(nil); errors.As(err, &lacks) {
			rows = append(rows, Row{What: m.Name, Got: "skipped", Goal: lacks.Error(), OK: true})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		direct = best(direct, alongside)
		if m.Tunnel == topology.UDPTunnel {
			if m.Encrypts {
				sealed = got
			} else {
				plain = got
			}
		}
		rows = append(rows, networkRows(m, got, alongside)...)
	}
	rows = append(rows, Row{What: "direct: a round trip", Netlab: microseconds(direct.latency), OK: true},
		Row{What: "direct: processor time per Gbit", Netlab: fmt.Sprintf("%.3f s", direct.cpu), OK: true})
	if plain.rate > 0 && sealed.rate > 0 {
		r := float64(sealed.rate) / float64(plain.rate)
		rows = append(rows, Row{What: "encrypted, beside the same without encryption", Netlab: rate(sealed.rate), Floor: rate(plain.rate),
			Got: fmt.Sprintf("%.2f ×", r), Goal: "≥ 0.60 ×", OK: r >= 0.6})
	}
	return rows, nil
}

func networkRows(m topology.NetworkMode, got, direct path) []Row {
	whole, shaped := float64(got.rate)/float64(direct.rate), float64(got.shaped)/float64(direct.shaped)
	rows := []Row{
		{What: m.Name + ": throughput (beside direct" + claimed(m) + ")", Netlab: rate(got.rate), Floor: rate(direct.rate), Got: fmt.Sprintf("%.2f ×", whole), OK: true},
		{What: m.Name + ": throughput on links of 1 Gbit/s", Netlab: rate(got.shaped), Floor: rate(direct.shaped), Got: fmt.Sprintf("%.3f ×", shaped), OK: true},
		{What: m.Name + ": a round trip", Netlab: microseconds(got.latency), Floor: microseconds(direct.latency),
			Got: fmt.Sprintf("%.2f ×", float64(got.latency)/float64(direct.latency)), OK: true},
		{What: m.Name + ": processor time per Gbit", Netlab: fmt.Sprintf("%.3f s", got.cpu), Floor: fmt.Sprintf("%.3f s", direct.cpu),
			Got: fmt.Sprintf("%.2f ×", got.cpu/direct.cpu), OK: true},
	}
	if least, most := shapedGoal(m); least > 0 {
		rows[1].OK = shaped >= least && shaped <= most
		rows[1].Goal = fmt.Sprintf("%.2f to %.3g ×", least, most)
	}
	return rows
}

func rate(bits uint64) string { return fmt.Sprintf("%.2f Gbit/s", float64(bits)/1e9) }

// measureNetwork measures the way between pods of two nodes, and the direct one.
func measureNetwork(ctx context.Context, m topology.NetworkMode, rounds int) (pods, direct path, err error) {
	for _, shaped := range []bool{false, true} {
		spec := twoNodes(m.Name, shaped)
		lab, running, err := start(ctx, spec)
		if err != nil {
			return pods, direct, err
		}
		pods, direct, err = between(ctx, lab, running, shaped, rounds, pods, direct)
		running.Abandon()
		if err != nil {
			return pods, direct, err
		}
		settle()
	}
	return pods, direct, nil
}

// twoNodes is a lab with a pod on each of two nodes, and one in the network of the second.
func twoNodes(mode string, shaped bool) *topology.Spec {
	spec := &topology.Spec{Name: "bench", Network: topology.NetworkSpec{Mode: set(mode)}, Nodes: []topology.NodeSpec{{Name: "node1"}, {Name: "node2"}}}
	if shaped {
		for i := range spec.Nodes {
			spec.Nodes[i].Link.Rate = set(uint64(shapedRate))
		}
	}
	listens := []topology.PortSpec{{Name: "sink", Port: set(5001)}}
	spec.Pods = []topology.PodSpec{{Block: "from", Key: "0", Node: set("node1")}, {Block: "to", Key: "0", Node: set("node2"), Ports: listens},
		{Block: "direct", Key: "0", Node: set("node2"), HostNetwork: set(true), Ports: listens}}
	return spec
}

// between adds to both paths what a lab shows, in turns.
func between(ctx context.Context, lab *topology.Lab, running *engine.Client, shaped bool, rounds int, pods, direct path) (path, path, error) {
	var from, to *topology.Pod
	for _, p := range lab.Pods {
		switch {
		case p.HostNetwork:
		case p.Node == lab.Nodes[0]:
			from = p
		default:
			to = p
		}
	}
	for range rounds {
		for _, way := range []struct {
			f flow.Flow
			p *path
		}{{flow.Flow{From: lab.Nodes[0].Netns(), To: netip.AddrPortFrom(lab.Nodes[1].Addrs[0], 5001)}, &direct},
			{flow.Flow{From: from.Netns(), To: netip.AddrPortFrom(to.Addrs[0], 5001)}, &pods}} {
			got, err := one(ctx, running, way.f, shaped)
			if err != nil {
				return pods, direct, err
			}
			*way.p = best(*way.p, got)
		}
	}
	return pods, direct, nil
}

// one measures an upload and, on links without shaping, the round trip.
func one(ctx context.Context, running *engine.Client, f flow.Flow, shaped bool) (path, error) {
	f.Within, f.Upload = time.Minute, largeUpload
	if shaped {
		f.Upload = shapedUpload
	}
	before := childrenTime()
	seen, err := running.Probe(ctx, []flow.Flow{f})
	if err != nil {
		return path{}, err
	}
	if seen[0].Outcome != flow.Connected {
		return path{}, fmt.Errorf("an upload ended with %s %s", seen[0].Outcome, seen[0].Err)
	}
	if shaped {
		return path{shaped: seen[0].Rate}, nil
	}
	got := path{rate: seen[0].Rate, cpu: (childrenTime() - before).Seconds() / (float64(f.Upload) * 8 / 1e9)}
	f.Upload = 0
	for range 20 {
		if seen, err = running.Probe(ctx, []flow.Flow{f}); err != nil {
			return path{}, err
		}
		if rtt := seen[0].RoundTrip; rtt > 0 && (got.latency == 0 || rtt < got.latency) {
			got.latency = rtt
		}
	}
	return got, nil
}

// best takes the best of each: other load on the machine only slows.
func best(a, b path) path {
	less := func(x, y time.Duration) time.Duration { return min(cmp.Or(x, y), cmp.Or(y, x)) }
	return path{rate: max(a.rate, b.rate), shaped: max(a.shaped, b.shaped), latency: less(a.latency, b.latency), cpu: min(cmp.Or(a.cpu, b.cpu), cmp.Or(b.cpu, a.cpu))}
}

// childrenTime is the processor time of the processes that this one started and that run:
// the engine, in whose system calls packets travel.
func childrenTime() time.Duration {
	const userHz = 100 // of times in /proc
	var ticks, all int64
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest) // from the third on, as proc_pid_stat(5) counts
		if len(fields) < 13 || fields[1] != fmt.Sprint(os.Getpid()) {
			continue
		}
		for _, f := range fields[11:13] {
			if _, err := fmt.Sscan(f, &ticks); err == nil {
				all += ticks
			}
		}
	}
	return time.Duration(all) * time.Second / userHz
}
