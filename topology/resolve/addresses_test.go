package resolve

import (
	"fmt"
	"math/rand"
	"net/netip"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/topology"
)

// decided is every address, link and port of a lab, by its owner.
func decided(lab *topology.Lab) map[string]string {
	out := map[string]string{}
	for _, n := range lab.Nodes {
		out["node "+n.Name] = fmt.Sprint(n.Addrs, n.PodCIDRs, n.MAC, n.VTEPMAC)
	}
	for _, c := range lab.Clients {
		out["client "+c.Name] = fmt.Sprint(c.Addrs, c.MAC)
	}
	for _, p := range lab.Pods {
		out["pod "+p.AgentName()] = fmt.Sprint(p.Addrs, p.MAC, p.HostLink, p.Node.Name)
	}
	for _, s := range lab.Services {
		out["service "+s.Name] = fmt.Sprint(s.ClusterIPs)
		for _, p := range s.Ports {
			out["port "+s.Name+"/"+p.Name] = fmt.Sprint(p.NodePort)
		}
	}
	return out
}

// As on a host with Docker: the first container of each node has the same address.
func TestNodesWithASharedCIDRNumberTheirOwnPods(t *testing.T) {
	node := func(name string) topology.Opt[string] { return topology.Opt[string]{Value: name, Set: true} }
	spec := &topology.Spec{Network: topology.NetworkSpec{Mode: node("bridge")}, Nodes: []topology.NodeSpec{{Name: "node1"}, {Name: "node2"}},
		Pods: []topology.PodSpec{{Block: "a", Node: node("node1")}, {Block: "b", Node: node("node2")}, {Block: "c", Node: node("node1")},
			{Block: "d", Node: node("node1"), Address: topology.Opt[netip.Addr]{Value: netip.MustParseAddr("172.17.0.2"), Set: true}}}}
	lab, problems := Lab(spec, datapath.Catalogue())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "172.17.0.3", "b": "172.17.0.2", "c": "172.17.0.4", "d": "172.17.0.2"}
	for _, p := range lab.Pods {
		if got := p.Addrs[0].String(); len(p.Addrs) != 1 || got != want[p.Name] {
			t.Errorf("pod %s on %s has %v, want %s", p.Name, p.Node.Name, p.Addrs, want[p.Name])
		}
	}
}

// randomSpec is a lab of n pods in blocks of one, some of them pinned.
func randomSpec(r *rand.Rand, n int) *topology.Spec {
	s := &topology.Spec{}
	for i := range 1 + r.Intn(20) {
		s.Nodes = append(s.Nodes, topology.NodeSpec{Name: fmt.Sprintf("node%d", i+1)})
	}
	for i := range r.Intn(5) {
		s.Clients = append(s.Clients, topology.ClientSpec{Name: fmt.Sprintf("client%c", 'a'+i)})
	}
	for i := range n {
		p := topology.PodSpec{Block: fmt.Sprintf("pod%d", i)}
		if r.Intn(2) == 0 {
			p.Node = set(s.Nodes[r.Intn(len(s.Nodes))].Name)
		}
		s.Pods = append(s.Pods, p)
	}
	for i := range r.Intn(40) {
		s.Services = append(s.Services, topology.ServiceSpec{Name: fmt.Sprintf("svc%d", i), Type: set("NodePort"),
			Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80)}}})
	}
	return s
}

func TestAppendingNeverRenumbers(t *testing.T) {
	additions := map[string]func(*topology.Spec){
		"pod":    func(s *topology.Spec) { s.Pods = append(s.Pods, topology.PodSpec{Block: "new"}) },
		"client": func(s *topology.Spec) { s.Clients = append(s.Clients, topology.ClientSpec{Name: "new"}) },
		"service": func(s *topology.Spec) {
			s.Services = append(s.Services, topology.ServiceSpec{Name: "new", Type: set("NodePort"), Ports: []topology.ServicePortSpec{{Name: "x", Port: set(1)}}})
		},
		"instance": func(s *topology.Spec) {
			s.Pods = append(s.Pods, topology.PodSpec{Block: "pod0", Key: "1", Index: 1, Node: set("node1")})
		},
	}
	for seed := range int64(60) {
		r := rand.New(rand.NewSource(seed))
		n := r.Intn(200)
		before, problems := Lab(randomSpec(r, n), datapath.Catalogue())
		if len(problems) != 0 {
			t.Fatalf("seed %d: %v", seed, problems)
		}
		for what, add := range additions {
			r := rand.New(rand.NewSource(seed))
			s := randomSpec(r, r.Intn(200))
			add(s)
			after, _ := Lab(s, datapath.Catalogue())
			now := decided(after)
			for who, was := range decided(before) {
				if now[who] != was {
					t.Errorf("seed %d: adding a %s moved %s from %s to %s", seed, what, who, was, now[who])
				}
			}
		}
	}
}

// One more node changes the turns of pods without a node, so they are pinned.
func TestAddingANodeMovesNoPinnedPod(t *testing.T) {
	spec := func(nodes ...string) *topology.Spec {
		s := &topology.Spec{Clients: []topology.ClientSpec{{Name: "laptop"}}}
		for _, n := range nodes {
			s.Nodes = append(s.Nodes, topology.NodeSpec{Name: n})
		}
		for i := range 50 {
			s.Pods = append(s.Pods, topology.PodSpec{Block: fmt.Sprintf("p%d", i), Node: set("node1")})
		}
		return s
	}
	before, _ := Lab(spec("node1", "alpha"), datapath.Catalogue())
	for i := range 100 {
		after, problems := Lab(spec("node1", "alpha", fmt.Sprintf("node%d", i+2)), datapath.Catalogue())
		if len(problems) != 0 {
			t.Fatal(problems)
		}
		now := decided(after)
		for who, was := range decided(before) {
			if now[who] != was {
				t.Errorf("node%d moved %s from %s to %s", i+2, who, was, now[who])
			}
		}
	}
}

func TestAddressesLinksAndMACsAreUnique(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	s := randomSpec(r, 0)
	s.Nodes = nil
	for i := range 20 {
		s.Nodes = append(s.Nodes, topology.NodeSpec{Name: fmt.Sprintf("node%d", i+1)})
	}
	for i := range 3000 {
		s.Pods = append(s.Pods, topology.PodSpec{Block: "pod", Key: fmt.Sprint(i), Index: i})
	}
	lab, problems := Lab(s, datapath.Catalogue())
	if problems.Failed() {
		t.Fatal(problems[0])
	}
	owner := map[string]string{}
	claim := func(what, who string) {
		if other, ok := owner[what]; ok {
			t.Errorf("%s belongs to %s and %s", what, other, who)
		}
		owner[what] = who
	}
	for _, p := range lab.Pods {
		for _, a := range p.Addrs {
			claim(a.String(), p.Name)
			claim(fmt.Sprint(p.MAC), p.Name)
		}
		claim(p.HostLink, p.Name)
		if len(p.HostLink) > 15 {
			t.Errorf("%s is longer than 15 bytes", p.HostLink)
		}
	}
	for _, n := range lab.Nodes {
		claim(n.Addrs[0].String(), n.Name)
		claim(fmt.Sprint(n.MAC), n.Name)
		claim(fmt.Sprint(n.VTEPMAC), n.Name)
	}
	for _, c := range lab.Clients {
		claim(c.Addrs[0].String(), c.Name)
	}
	if len(owner) < 6000 {
		t.Errorf("only %d things checked", len(owner))
	}
}
