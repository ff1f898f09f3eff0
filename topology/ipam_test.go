package topology

import (
	"fmt"
	"math/rand"
	"net/netip"
	"testing"
)

// decided is every address, link and port of a lab by who has it.
func decided(lab *Lab) map[string]string {
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

// randomSpec is a lab of n pods in blocks of one, some of them pinned.
func randomSpec(r *rand.Rand, n int) *Spec {
	s := &Spec{}
	for i := range 1 + r.Intn(20) {
		s.Nodes = append(s.Nodes, NodeSpec{Name: fmt.Sprintf("node%d", i+1)})
	}
	for i := range r.Intn(5) {
		s.Clients = append(s.Clients, ClientSpec{Name: fmt.Sprintf("client%c", 'a'+i)})
	}
	for i := range n {
		p := PodSpec{Block: fmt.Sprintf("pod%d", i)}
		if r.Intn(2) == 0 {
			p.Node = set(s.Nodes[r.Intn(len(s.Nodes))].Name)
		}
		s.Pods = append(s.Pods, p)
	}
	for i := range r.Intn(40) {
		s.Services = append(s.Services, ServiceSpec{Name: fmt.Sprintf("svc%d", i), Type: set("NodePort"),
			Ports: []ServicePortSpec{{Name: "http", Port: set(80)}}})
	}
	return s
}

func TestAppendingNeverRenumbers(t *testing.T) {
	additions := map[string]func(*Spec){
		"pod":    func(s *Spec) { s.Pods = append(s.Pods, PodSpec{Block: "new"}) },
		"client": func(s *Spec) { s.Clients = append(s.Clients, ClientSpec{Name: "new"}) },
		"service": func(s *Spec) {
			s.Services = append(s.Services, ServiceSpec{Name: "new", Type: set("NodePort"), Ports: []ServicePortSpec{{Name: "x", Port: set(1)}}})
		},
		"instance": func(s *Spec) { s.Pods = append(s.Pods, PodSpec{Block: "pod0", Key: "1", Index: 1, Node: set("node1")}) },
	}
	for seed := range int64(60) {
		r := rand.New(rand.NewSource(seed))
		n := r.Intn(200)
		before, problems := Resolve(randomSpec(r, n))
		if len(problems) != 0 {
			t.Fatalf("seed %d: %v", seed, problems)
		}
		for what, add := range additions {
			r := rand.New(rand.NewSource(seed))
			s := randomSpec(r, r.Intn(200))
			add(s)
			after, _ := Resolve(s)
			now := decided(after)
			for who, was := range decided(before) {
				if now[who] != was {
					t.Errorf("seed %d: adding a %s moved %s from %s to %s", seed, what, who, was, now[who])
				}
			}
		}
	}
}

// A node more changes the turns of pods that name no node, so those are pinned.
func TestAddingANodeMovesNoPinnedPod(t *testing.T) {
	spec := func(nodes ...string) *Spec {
		s := &Spec{Clients: []ClientSpec{{Name: "laptop"}}}
		for _, n := range nodes {
			s.Nodes = append(s.Nodes, NodeSpec{Name: n})
		}
		for i := range 50 {
			s.Pods = append(s.Pods, PodSpec{Block: fmt.Sprintf("p%d", i), Node: set("node1")})
		}
		return s
	}
	before, _ := Resolve(spec("node1", "alpha"))
	for i := range 100 {
		after, problems := Resolve(spec("node1", "alpha", fmt.Sprintf("node%d", i+2)))
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

func TestAFullPoolHandsOutEveryAddressOnce(t *testing.T) {
	pool := newAddrPool(netip.MustParsePrefix("10.0.0.0/24"))
	seen := map[netip.Addr]bool{}
	for i := range 254 {
		a, ok := pool.assign(fmt.Sprint(i), pool.all(), "x")
		if !ok || seen[a] || !pool.prefix.Contains(a) {
			t.Fatalf("%d: %v %v", i, a, ok)
		}
		seen[a] = true
	}
	if a, ok := pool.assign("one more", pool.all(), "x"); ok {
		t.Errorf("got %v from a full pool", a)
	}
	if seen[netip.MustParseAddr("10.0.0.0")] || seen[netip.MustParseAddr("10.0.0.255")] {
		t.Error("network or broadcast address handed out")
	}
}

func TestAddressesLinksAndMACsAreUnique(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	s := randomSpec(r, 0)
	s.Nodes = nil
	for i := range 20 {
		s.Nodes = append(s.Nodes, NodeSpec{Name: fmt.Sprintf("node%d", i+1)})
	}
	for i := range 3000 {
		s.Pods = append(s.Pods, PodSpec{Block: "pod", Key: fmt.Sprint(i), Index: i})
	}
	lab, problems := Resolve(s)
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

func TestNthBlockCountsAcrossTheMiddleOfAnIPv6Address(t *testing.T) {
	tests := []struct {
		prefix string
		bits   int
		n      uint64
		want   string
	}{
		{"10.244.0.0/16", 24, 3, "10.244.3.0/24"},
		{"10.0.0.0/8", 32, 256, "10.0.1.0/32"},
		{"fd00::/48", 64, 2, "fd00:0:0:2::/64"},
		{"fd00::/60", 68, 17, "fd00:0:0:1:1000::/68"},
		{"fd00::/112", 128, 10, "fd00::a/128"},
	}
	for _, tt := range tests {
		if got := nthBlock(netip.MustParsePrefix(tt.prefix), tt.bits, tt.n).String(); got != tt.want {
			t.Errorf("block %d of /%d in %s: got %s, want %s", tt.n, tt.bits, tt.prefix, got, tt.want)
		}
	}
}
