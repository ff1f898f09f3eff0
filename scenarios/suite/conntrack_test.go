//go:build linux

package suite_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/scenarios/language"
)

// askVariable turns this program into a UDP client that sends one datagram from a
// fixed port, as resolvers do, and prints the answer.
const askVariable = "NLAB_TEST_ASK"

const askFrom = 5353

func askOnce(to string) int {
	addr, err := net.ResolveUDPAddr("udp", to)
	if err == nil {
		var c *net.UDPConn
		if c, err = net.DialUDP("udp", &net.UDPAddr{Port: askFrom}, addr); err == nil {
			defer c.Close()
			buf := make([]byte, 1024)
			var n int
			_ = c.SetDeadline(time.Now().Add(time.Second))
			if _, err = c.Write([]byte("who\n")); err == nil {
				if n, err = c.Read(buf); err == nil {
					fmt.Printf("%s", buf[:n])
					return 0
				}
			}
		}
	}
	fmt.Println(err)
	return 0
}

// A client that keeps its port keeps its conntrack entry: unless stale entries are
// deleted, its datagrams go to the old endpoint forever.
//
//	[node1] client          [node2] old, new
//	   └── 10.96.0.53:53/udp ──▶ old, then new
func TestUDPClientsFollowTheEndpoints(t *testing.T) {
	const text = `
network { mode = %q }
proxy { mode = %q }
node "node1" {}
node "node2" {}
pod "client" { node = node.node1 }
pod "old" {
  node   = node.node2
  labels = { app = "old" }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
}
pod "new" {
  node   = node.node2
  labels = { app = "new" }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
}
service "dns" {
  cluster_ip = "10.96.0.53"
  selector   = { app = %q }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
}
`
	for _, m := range datapath.Modes() {
		mode := m.Name
		if !m.Routed {
			continue // the pods are on different nodes
		}
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			follows(t, "10.96.0.53:53", func(app string) string { return fmt.Sprintf(text, mode, "iptables", app) })
		})
	}
	// A proxy in user space keeps a client with its endpoint for as long as it asks: that is
	// TestDatagramsOfAClientGoToOneEndpoint of package userspace.
	catalogue := datapath.Catalogue()
	for _, proxy := range catalogue.KernelProxies() {
		t.Run("proxy="+proxy, func(t *testing.T) {
			t.Parallel()
			follows(t, "10.96.0.53:53", func(app string) string { return fmt.Sprintf(text, "host-gw", proxy, app) })
		})
	}
}

// The same for host ports, which one pod gives up and another takes.
func TestUDPClientsFollowHostPorts(t *testing.T) {
	const text = `
network { mode = %q }
node "node1" {}
node "node2" {}
pod "client" { node = node.node1 }
pod "old" {
  node = node.node2
  port "dns" {
    port     = 53
    protocol = "udp"
    %s
  }
}
pod "new" {
  node = node.node2
  port "dns" {
    port     = 53
    protocol = "udp"
    %s
  }
}
`
	for _, mode := range []string{"bridge", "vxlan", "routed"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			follows(t, "192.168.0.12:5300", func(app string) string {
				published := map[string]string{app: "host_port = 5300"}
				return fmt.Sprintf(text, mode, published["old"], published["new"])
			})
		})
	}
}

// follows has a client ask in labs in which nobody, the pod old and the pod new answer.
func follows(t *testing.T, to string, text func(app string) string) {
	t.Helper()
	lab, err := engine.Start(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Abandon)
	for _, app := range []string{"none", "old", "new", "old"} {
		apply(t, lab, text(app))
		got := ask(t, lab, "pod.client", to)
		if want := fmt.Sprintf(`"name":%q`, app); app != "none" && !strings.Contains(got, want) {
			t.Errorf("with %s behind it the client on its old port gets %q", app, got)
		}
		if app == "none" && strings.Contains(got, "name") {
			t.Errorf("with nobody behind it there was an answer: %q", got)
		}
	}
}

func apply(t *testing.T, lab *engine.Client, text string) *plan.Plan {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lab.hcl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, diags := language.Load(file, language.Options{Catalogue: datapath.Catalogue()})
	if diags.HasErrors() {
		t.Fatalf("%s", diags.JSON())
	}
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lab.Apply(context.Background(), p, engine.Meta{}, false)
	skipUnsupported(t, err)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask sends one datagram inside a lab and returns what came back.
func ask(t *testing.T, lab *engine.Client, netns, to string) string {
	t.Helper()
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, err = lab.Exec(context.Background(), engine.Command{Netns: netns, Argv: []string{self}, Env: []string{askVariable + "=" + to},
		Stdin: in, Stdout: w, Stderr: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
