//go:build linux

package bench

import (
	"context"
	"os"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
)

func TestMain(m *testing.M) {
	Main()
	engine.Main()
	os.Exit(m.Run())
}

// The floor and netlab must create the same objects, or the ratio is meaningless.
func TestFloorAndNetlabAreComparable(t *testing.T) {
	list, err := compareShape(context.Background(), Shape{Nodes: 2, Clients: 1, Pods: 4, Services: 1, Endpoints: 4}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r := list[0]; r.netlab.up <= 0 || r.floor.up <= 0 || r.netlab.down <= 0 || r.floor.down <= 0 || r.netlab.rss <= 0 {
		t.Errorf("nothing measured: %+v", r)
	}
}

func BenchmarkUpOfThousandPods(b *testing.B) {
	list, err := compareShape(context.Background(), Shape{Nodes: 20, Pods: 1000}, b.N)
	if err != nil {
		b.Fatal(err)
	}
	netlab, floor, ratio := medians(list, up)
	b.ReportMetric(ratio, "up-ratio")
	b.ReportMetric(float64(netlab.Milliseconds()), "up-ms")
	b.ReportMetric(float64(floor.Milliseconds()), "floor-ms")
	netlab, floor, ratio = medians(list, down)
	b.ReportMetric(ratio, "down-ratio")
	b.ReportMetric(float64(netlab.Milliseconds()), "down-ms")
	b.ReportMetric(float64(floor.Milliseconds()), "floordown-ms")
	b.ReportMetric(float64(median(list, func(r round) int64 { return r.netlab.rss }))/1e6, "rss-MB")
}

// On a link of 1 Gbit/s, pods get what the link carries, and no more.
func TestPodNetworksAreMeasured(t *testing.T) {
	for _, m := range datapath.Catalogue().Networks {
		if m.Name != "host-gw" {
			continue
		}
		pods, direct, err := measureNetwork(t.Context(), m, 1)
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range map[string]path{"pods": pods, "direct": direct} {
			if p.rate == 0 || p.latency == 0 || p.cpu == 0 || p.shaped == 0 || p.shaped > shapedRate {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if rows := networkRows(m, pods, direct); len(rows) != 4 || rows[1].Goal == "" {
			t.Errorf("rows %+v", rows)
		}
	}
}
