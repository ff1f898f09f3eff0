//go:build linux

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		pod := topology.PodSpec{Block: "p", Key: fmt.Sprint(i), Index: i,
			Node: topology.Opt[string]{Value: fmt.Sprintf("node%d", i%s.Nodes+1), Set: true}}
		if s.Services > 0 {
			pod.Labels = map[string]string{"set": fmt.Sprint(i / s.Endpoints)}
		}
		spec.Pods = append(spec.Pods, pod)
	}
	for i := range s.Services {
		spec.Services = append(spec.Services, topology.ServiceSpec{Name: fmt.Sprintf("s%d", i),
			Selector: map[string]string{"set": fmt.Sprint(i)},
			Ports:    []topology.ServicePortSpec{{Name: "http", Port: topology.Opt[int]{Value: 80, Set: true}}}})
	}
	return spec
}

// Lab is the resolved lab and its plan.
func (s Shape) Lab() (*topology.Lab, *plan.Plan, error) {
	lab, problems := resolve.Lab(s.Spec(), datapath.Catalogue())
	for _, p := range problems {
		if !p.Warning {
			return nil, nil, fmt.Errorf("%s: %s", p.Summary, p.Detail)
		}
	}
	p, err := datapath.Compile(lab)
	return lab, p, err
}

// sample is what one round measured of netlab.
type sample struct {
	up, down time.Duration
	rss      int64
}

// runNetlab times netlab with the same shape: resolve, compile, start the engine and
// apply; then down until the links are gone.
func runNetlab(ctx context.Context, s Shape) (sample, error) {
	var got sample
	started := time.Now()
	_, p, err := s.Lab()
	if err != nil {
		return got, err
	}
	lab, err := engine.Start(ctx, "")
	if err != nil {
		return got, err
	}
	defer lab.Abandon()
	if _, err := lab.Apply(ctx, p, engine.Meta{}, false); err != nil {
		return got, err
	}
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

// Comparison is netlab's times against the floor, as medians over the rounds.
type Comparison struct {
	Shape     Shape
	Up, Down  time.Duration
	FloorUp   time.Duration
	FloorDown time.Duration
	UpRatio   float64 // median of the ratios of the rounds
	DownRatio float64
	RSS       int64 // of the engine, in bytes
}

// Compare runs the floor and netlab alternately.
func Compare(ctx context.Context, s Shape, rounds int) (Comparison, error) {
	o := order{Shape: s}
	if s.Services > 0 {
		dir, err := os.MkdirTemp("", "netlab-bench-")
		if err != nil {
			return Comparison{}, err
		}
		defer os.RemoveAll(dir)
		if o.Rules, err = writeRules(dir, s); err != nil {
			return Comparison{}, err
		}
	}
	var ups, downs, floorUps, floorDowns []time.Duration
	var upRatios, downRatios []float64
	var rss []int64
	for range rounds {
		bare, err := runFloor(o)
		if err != nil {
			return Comparison{}, fmt.Errorf("floor: %w", err)
		}
		settle()
		got, err := runNetlab(ctx, s)
		if err != nil {
			return Comparison{}, err
		}
		settle()
		ups, downs = append(ups, got.up), append(downs, got.down)
		floorUps, floorDowns = append(floorUps, bare.up), append(floorDowns, bare.down)
		upRatios = append(upRatios, float64(got.up)/float64(bare.up))
		downRatios = append(downRatios, float64(got.down)/float64(bare.down))
		rss = append(rss, got.rss)
	}
	return Comparison{Shape: s, Up: Median(ups), Down: Median(downs), FloorUp: Median(floorUps), FloorDown: Median(floorDowns),
		UpRatio: Median(upRatios), DownRatio: Median(downRatios), RSS: Median(rss)}, nil
}

// settle lets the kernel finish destroying namespaces: whatever follows immediately
// would be slowed down by it.
func settle() { time.Sleep(500 * time.Millisecond) }

// writeRules writes the input of iptables-restore of every node.
func writeRules(dir string, s Shape) ([]string, error) {
	_, p, err := s.Lab()
	if err != nil {
		return nil, err
	}
	var files []string
	for _, n := range p.Netns {
		if n.Kind != plan.Node {
			continue
		}
		file := filepath.Join(dir, n.Name)
		if err := os.WriteFile(file, []byte(iptables.RestoreText(iptables.Create(n.Tables), false)), 0o600); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// Median is the middle of the values.
func Median[T int64 | float64 | time.Duration](values []T) T {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}
