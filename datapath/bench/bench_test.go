//go:build linux

package bench

import (
	"context"
	"os"
	"testing"

	"github.com/netlab/netlab/datapath/engine"
)

func TestMain(m *testing.M) {
	Main()
	engine.Main()
	os.Exit(m.Run())
}

// The floor and netlab must create the same objects, or the ratio is meaningless.
func TestFloorAndNetlabAreComparable(t *testing.T) {
	c, err := Compare(context.Background(), Shape{Nodes: 2, Clients: 1, Pods: 4, Services: 1, Endpoints: 4}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if c.Up <= 0 || c.FloorUp <= 0 || c.Down <= 0 || c.FloorDown <= 0 || c.RSS <= 0 {
		t.Errorf("nothing measured: %+v", c)
	}
}

func BenchmarkUpOfThousandPods(b *testing.B) {
	c, err := Compare(context.Background(), Shape{Nodes: 20, Pods: 1000}, b.N)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(c.UpRatio, "up-ratio")
	b.ReportMetric(c.DownRatio, "down-ratio")
	b.ReportMetric(float64(c.Up.Milliseconds()), "up-ms")
	b.ReportMetric(float64(c.FloorUp.Milliseconds()), "floor-ms")
	b.ReportMetric(float64(c.Down.Milliseconds()), "down-ms")
	b.ReportMetric(float64(c.FloorDown.Milliseconds()), "floordown-ms")
	b.ReportMetric(float64(c.RSS)/1e6, "rss-MB")
}
