package walk_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/topology"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRenderings renders one prediction in every format: a laptop's connection to a
// node port of node 1, one of whose endpoints is on node 2.
func TestRenderings(t *testing.T) {
	l := build(t, topology.Spec{
		Nodes:   []topology.NodeSpec{{Name: "node1", Origin: at(2)}, {Name: "node2", Origin: at(3)}},
		Clients: []topology.ClientSpec{{Name: "laptop", Origin: at(5)}},
		Pods:    []topology.PodSpec{pod("web", "0", "node1", "web", ""), pod("web", "1", "node2", "web", "")},
		Services: []topology.ServiceSpec{
			service("web", "app", "web", func(s *topology.ServiceSpec) { s.Type, s.Ports[0].NodePort = set("NodePort"), set(30080) }),
			service("empty", "app", "none", func(s *topology.ServiceSpec) { s.Type, s.Ports[0].NodePort = set("NodePort"), set(30081) }),
		},
	})
	w := walk.New(l.plan)
	spread, refused := w.Walk(l.flow(t, "laptop", "node1:30080")), w.Walk(l.flow(t, "laptop", "node2:30081"))
	compact, err := json.Marshal(refused)
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", "  "); err != nil {
		t.Fatal(err)
	}
	for file, got := range map[string]string{
		"spread.txt": render.Text(spread, render.Brief), "spread-full.txt": render.Text(spread, render.Full), "spread.mmd": render.Mermaid(spread),
		"refused.txt": render.Text(refused, render.Brief), "refused.mmd": render.Mermaid(refused), "refused.json": indented.String() + "\n",
	} {
		path := filepath.Join("testdata", file)
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s", path, got)
		}
	}
}
