//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath"
)

// dialVariable makes this program connect to an address and pass lines on, as nc
// does, which not every machine has.
const dialVariable = "NLAB_TEST_DIAL"

func talk(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		os.Exit(0)
	}()
	_, err = io.Copy(os.Stdout, conn)
	return err
}

// conversation is a TCP connection inside a lab that stays open.
type conversation struct {
	t       testing.TB
	what    string
	in      io.Writer
	answers *bufio.Scanner
	first   string
}

// converse connects from a place of the lab to an address.
func (p *testPlace) converse(from, to string) *conversation {
	p.t.Helper()
	cmd := p.command("exec", from, "--", "env", dialVariable+"="+to, "netlab")
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = cmd.Wait() })
	p.t.Cleanup(func() { in.Close() })
	c := &conversation{t: p.t, what: from + " to " + to, in: in, answers: bufio.NewScanner(out)}
	c.first = c.ask()
	return c
}

// ask sends a line over the connection and returns the answer: who answers, and the
// source that it sees.
func (c *conversation) ask() string {
	c.t.Helper()
	if _, err := io.WriteString(c.in, "who?\n"); err != nil {
		c.t.Fatalf("%s: %v", c.what, err)
	}
	if !c.answers.Scan() {
		c.t.Fatalf("%s: the connection ended", c.what)
	}
	return c.answers.Text()
}

// survives checks that the same connection, with the same port, still works.
func (c *conversation) survives(after string) {
	c.t.Helper()
	if got := c.ask(); got != c.first {
		c.t.Errorf("%s: after %s the answer is %s, was %s", c.what, after, got, c.first)
	}
}

// inspected is a part of netlab inspect --json.
type inspected struct {
	Places []struct {
		Name      string   `json:"name"`
		Addresses []string `json:"addresses"`
	} `json:"places"`
	Services []struct {
		Name string   `json:"name"`
		IPs  []string `json:"cluster_ips"`
	} `json:"services"`
}

// addr looks up the first address of a node, pod, client or service.
func (p *testPlace) addr(name string) string {
	p.t.Helper()
	var lab inspected
	if err := json.Unmarshal([]byte(p.netlab("inspect", "--json")), &lab); err != nil {
		p.t.Fatal(err)
	}
	for _, s := range lab.Services {
		if "service "+s.Name == name {
			return s.IPs[0]
		}
	}
	for _, place := range lab.Places {
		if place.Name == name {
			return place.Addresses[0]
		}
	}
	p.t.Fatalf("there is no %s", name)
	return ""
}

// edited is small with two replicas, a pod that moves, and edits of its text.
func edited(t testing.TB, edits ...string) string {
	t.Helper()
	text := strings.Replace(small, "default = 1", "default = 2", 1) + "pod \"mover\" { node = node.node1 }\n"
	for i := 0; i < len(edits); i += 2 {
		if edits[i] != "" && !strings.Contains(text, edits[i]) {
			t.Fatalf("there is no %q to edit", edits[i])
		}
		if edits[i] == "" {
			text += edits[i+1]
		} else {
			text = strings.Replace(text, edits[i], edits[i+1], 1)
		}
	}
	return text
}

func TestUpdatesSpareConnections(t *testing.T) {
	t.Parallel()
	for _, m := range datapath.Modes() {
		mode := m.Name
		if !m.Routed {
			continue // the pods are on different nodes
		}
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			header := "network { mode = \"" + mode + "\" }\n"
			p.write("a.hcl", header+edited(t))
			p.upOrSkip("a.hcl")
			connections := []*conversation{
				p.converse("shell", p.addr("service web")+":80"),
				p.converse("shell", p.addr("web-0")+":8080"),
				p.converse("laptop", p.addr("node2")+":30080"),
			}
			local := []string{"node_port   = 30080\n  }", "node_port   = 30080\n  }\n  external_traffic_policy = \"Local\""}
			port := []string{"30080", "30081"}
			for _, step := range []struct {
				name  string
				edits []string
				wants []string
			}{
				{"a pod was added", []string{"", "pod \"extra\" { node = node.node2 }\n"}, []string{"1 network namespace created"}},
				{"the pod was removed", nil, []string{"1 network namespace removed"}},
				{"the traffic policy became Local", local, []string{"chain"}},
				{"the traffic policy became Cluster", nil, []string{"chain"}},
				{"the node port moved", port, []string{"chain"}},
				{"the node port moved back", nil, []string{"chain"}},
				{"a pod moved to another node", []string{"\"mover\" { node = node.node1", "\"mover\" { node = node.node2"}, []string{"changed"}},
				{"the pod moved back", nil, []string{"changed"}},
				{"replicas were added", []string{"default = 2", "default = 5"}, []string{"3 network namespaces created"}},
				{"replicas were removed", nil, []string{"3 network namespaces removed"}},
			} {
				p.write("a.hcl", header+edited(t, step.edits...))
				out := p.netlab("up", "a.hcl")
				for _, want := range step.wants {
					if !strings.Contains(out, want) {
						t.Errorf("%s: netlab up says %q, want %q in it", step.name, out, want)
					}
				}
				for _, c := range connections {
					// The node port of a connection that moved is touched.
					if !(strings.Contains(step.name, "port") && strings.Contains(c.what, ":30080")) {
						c.survives(step.name)
					}
				}
				if again := p.netlab("up", "a.hcl"); again != "a: no change\n" {
					t.Errorf("%s: up again: %s", step.name, again)
				}
				if status := p.netlab("status"); status != "a: as planned\n" {
					t.Errorf("%s: status: %s", step.name, status)
				}
			}
			p.netlab("test", "a.hcl")
			p.netlab("down")
			p.expectNothing()
		})
	}
}

func TestStatusNamesWhatWasChangedAndUpRepairs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", edited(t))
	p.netlab("up", "a.hcl")
	web := p.addr("web-0")
	for _, test := range []struct {
		name, place, harm string
		wants             []string
	}{
		{"a rule", "node1", "iptables -t nat -D POSTROUTING 1", []string{"node1", "POSTROUTING"}},
		{"all rules of a chain", "node2", "iptables -t nat -F KUBE-SERVICES", []string{"node2", "KUBE-SERVICES"}},
		{"all rules", "node2", "iptables-save | sed -n 's/^-A/-D/p' >/dev/null; iptables -t nat -F", []string{"node2", "KUBE-NODEPORTS"}},
		{"a foreign rule", "node1", "iptables -t nat -I KUBE-SERVICES -p tcp --dport 4711 -j RETURN", []string{"node1", "4711"}},
		{"a route", "node1", "ip route del 10.244.2.0/24", []string{"node1", "10.244.2.0/24"}},
		{"the default route of a pod", "web-0", "ip route del default", []string{"web-0", "default"}},
		{"a link", "node1", "ip link del flannel.1", []string{"node1", "flannel.1"}},
		{"a veth", "web-0", "ip link del eth0", []string{"web-0", "eth0"}},
		{"a link that is down", "web-0", "ip link set eth0 down", []string{"web-0", "eth0"}},
		{"the bridge that is down", "node1", "ip link set cni0 down", []string{"node1", "cni0"}},
		{"the link of a node that is down", "node1", "ip link set eth0 down", []string{"node1", "eth0"}},
		{"the node's end of a veth", "node2", "ip link del $(ip -o link show master cni0 | awk -F'[ @]' '{print $2; exit}')", []string{"shell"}},
		{"a port that left its bridge", "node1", "ip link set $(ip -o link show master cni0 | awk -F'[ @]' '{print $2; exit}') nomaster", []string{"node1", "veth"}},
		{"hairpin that is off", "node1", "bridge link set dev $(ip -o link show master cni0 | awk -F'[ @]' '{print $2; exit}') hairpin off", []string{"node1", "hairpin"}},
		{"a MAC", "web-0", "ip link set eth0 address 02:00:00:00:00:99", []string{"web-0", "eth0"}},
		{"the MAC of a bridge", "node1", "ip link set cni0 address 02:00:00:00:00:98", []string{"node1", "cni0"}},
		{"a link that was renamed", "web-0", "ip link set eth0 down; ip link set eth0 name eth9; ip link set eth9 up", []string{"web-0", "eth0", "eth9"}},
		{"a foreign link", "web-0", "ip link add foreign type bridge; ip link set foreign up", []string{"web-0", "foreign"}},
		{"a link and a rule at once", "node1", "ip link del cni0; ip link del flannel.1; iptables -t nat -F", []string{"cni0", "flannel.1", "KUBE-SERVICES"}},
		{"the link of a node", "node1", "ip link del eth0", []string{"node1", "eth0"}},
		{"an MTU", "web-0", "ip link set eth0 mtu 1300", []string{"web-0", "eth0", "1300"}},
		{"a bridge", "node1", "ip link del cni0", []string{"node1", "cni0"}},
		{"an address", "web-0", "ip addr flush dev eth0", []string{"web-0", web}},
		{"a foreign address", "web-0", "ip addr add 10.9.9.9/32 dev eth0", []string{"web-0", "10.9.9.9"}},
		{"a neighbour", "node1", "ip neigh del 10.244.2.0 dev flannel.1", []string{"node1", "10.244.2.0"}},
		{"a forwarding entry", "node1", "bridge fdb del $(bridge fdb show dev flannel.1 | awk '/dst/{print $1; exit}') dev flannel.1", []string{"node1", "flannel.1"}},
		{"a setting", "node1", "echo 0 >/proc/sys/net/ipv4/ip_forward", []string{"node1", "ip_forward"}},
	} {
		p.netlab("exec", test.place, "--", "sh", "-c", test.harm)
		r := p.try("status")
		if r.status != command.ExitFailed {
			t.Errorf("%s: netlab status: exit status %d: %s%s", test.name, r.status, r.out, r.err)
		}
		for _, want := range test.wants {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s: netlab status does not name %q:\n%s", test.name, want, r.out)
			}
		}
		if r := p.try("up", "a.hcl"); r.status != 0 || strings.Contains(r.out, "no change") {
			t.Errorf("%s: up: exit status %d: %s%s", test.name, r.status, r.out, r.err)
			p.netlab("down")
			p.netlab("up", "a.hcl")
		}
		if r := p.try("status"); r.status != 0 {
			t.Errorf("%s: not repaired:\n%s", test.name, r.out)
		}
	}
	p.netlab("test", "a.hcl")
	p.netlab("down")
	p.expectNothing()
}

// crowded is a lab so large that up returns from a change of a label before all pods were
// checked.
const crowded = `
variable "role" {
  type    = string
  default = "guest"
}
node "node1" {}
node "node2" {}
pod "web" {
  node   = node.node1
  labels = { app = "web" }
}
pod "shell" {
  node   = node.node2
  labels = { role = var.role }
}
pod "many" {
  count = 60
  node  = node.node2
}
policy "web" {
  pod_selector = { app = "web" }
  ingress {
    from { pod_selector = { role = "friend" } }
  }
}
`

func TestUpRepairsWhatItsChangeDoesNotTouch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", crowded)
	p.netlab("up", "a.hcl")
	harm := func() { p.netlab("exec", "many-30", "--", "ip", "route", "del", "default") }

	// The next command finds it repaired, without status first.
	harm()
	if out := p.netlab("up", "--var", "role=friend", "a.hcl"); !strings.Contains(out, "1 network namespace changed") {
		t.Errorf("up: %s", out)
	}
	if out := p.netlab("exec", "many-30", "--", "ip", "route"); !strings.Contains(out, "default") {
		t.Errorf("the route is not back: %s", out)
	}
	r := p.try("-v", "status")
	if r.status != 0 || r.out != "a: as planned\n" || !strings.Contains(r.err, "the check after the last up repaired: 1 network namespace changed (1 route)") ||
		!strings.Contains(r.err, "default") {
		t.Errorf("status: exit status %d: %s%s", r.status, r.out, r.err)
	}
	if out := p.netlab("up", "--var", "role=friend", "a.hcl"); out != "a: no change\n" {
		t.Errorf("up again: %s", out)
	}
	if r := p.try("status"); r.status != 0 || r.err != "" {
		t.Errorf("status after it: exit status %d: %s%s", r.status, r.out, r.err)
	}

	// Without a change everything is checked before up returns.
	harm()
	if out := p.netlab("up", "--var", "role=friend", "a.hcl"); !strings.Contains(out, "1 network namespace changed (1 route)") {
		t.Errorf("up without a change: %s", out)
	}

	harm()
	p.netlab("up", "a.hcl")
	p.netlab("down")
	p.expectNothing()
}
