package datapath_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

func TestEqualFilesHaveEqualPlans(t *testing.T) {
	for _, l := range labs {
		want := compile(t, l.spec)
		for range 20 {
			spec := l.spec
			spec.Nodes = shuffled(spec.Nodes)
			spec.Clients = shuffled(spec.Clients)
			spec.Services = shuffled(spec.Services)
			if l.name == "host-gw" {
				spec.Nodes = l.spec.Nodes // numbers in names keep addresses fixed
			}
			got := compile(t, spec)
			if got.Digest() != want.Digest() {
				t.Fatalf("%s: the digest depends on something other than the lab:\n%s", l.name, strings.Join(plan.Drift(got, want), "\n"))
			}
		}
	}
}

func shuffled[T any](list []T) []T {
	list = slices.Clone(list)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// Adding a pod changes the network namespaces of the pod, its node and the nodes whose
// services it serves, and nothing else.
func TestAddingAPodLeavesTheRestAlone(t *testing.T) {
	spec := labs[0].spec
	before := compile(t, spec)
	spec.Pods = append(slices.Clone(spec.Pods), edit(pod("other", 0, "node2"), func(p *topology.PodSpec) { p.Origin.Line = 50 }))
	c := plan.Diff(before, compile(t, spec))
	if len(c.Create) != 1 || c.Create[0].Name != "pod.other-0" || len(c.Remove) != 0 {
		t.Errorf("created %d, removed %q", len(c.Create), c.Remove)
	}
	if len(c.Edit) != 1 || c.Edit[0].Netns != "node.node2" || len(c.Edit[0].Add.Links) != 1 || len(c.Edit[0].Tables) != 0 {
		t.Errorf("edits: %+v", c.Edit)
	}
}

func TestChangingAPolicyChangesItsChainsOnly(t *testing.T) {
	spec := labs[0].spec
	before := compile(t, spec)
	spec.Services = slices.Clone(spec.Services)
	spec.Services[0].ExternalTrafficPolicy = set("Cluster")
	c := plan.Diff(before, compile(t, spec))
	var changed []string
	for _, e := range c.Edit {
		for _, table := range e.Tables {
			for _, chain := range table.Set {
				changed = append(changed, e.Netns+" "+table.Name+" "+chain.Name)
			}
			for _, chain := range table.Delete {
				changed = append(changed, e.Netns+" "+table.Name+" -"+chain)
			}
		}
	}
	want := []string{"node.node1 nat KUBE-EXT-CDGGSHYLG3RE2FKL", "node.node1 nat -KUBE-SVL-CDGGSHYLG3RE2FKL",
		"node.node2 nat KUBE-EXT-CDGGSHYLG3RE2FKL", "node.node2 filter KUBE-EXTERNAL-SERVICES"}
	if !slices.Equal(changed, want) {
		t.Errorf("got %q\nwant %q", changed, want)
	}
}

func TestMTULeavesRoomForTheTunnel(t *testing.T) {
	dual := labs[3].spec.Network
	type mtuRow struct {
		name    string
		network topology.NetworkSpec
		pod     int
		tunnel  int // 0: none
	}
	rows := []mtuRow{
		{"vxlan", topology.NetworkSpec{}, 1450, 1450},
		{"vxlan on jumbo frames", topology.NetworkSpec{MTU: set(9000)}, 8950, 8950},
		{"vxlan with direct routing", topology.NetworkSpec{VXLAN: topology.VXLANSpec{DirectRouting: set(true)}}, 1450, 1450},
		{"vxlan over both families", dual, 1430, 1450},
		{"host-gw", topology.NetworkSpec{Mode: set("host-gw")}, 1500, 0},
		{"udp", topology.NetworkSpec{Mode: set("udp")}, 1472, 1472},
		{"udp over both families", topology.NetworkSpec{Mode: set("udp"), PodCIDRs: dual.PodCIDRs, ServiceCIDRs: dual.ServiceCIDRs, NodeCIDRs: dual.NodeCIDRs}, 1472, 1472},
		{"routed", topology.NetworkSpec{Mode: set("routed")}, 1500, 0},
		{"ipip", topology.NetworkSpec{Mode: set("ipip")}, 1480, 1480},
		{"ipip across subnets", topology.NetworkSpec{Mode: set("ipip"), IPIP: topology.IPIPSpec{Mode: set("CrossSubnet")}}, 1480, 1480},
		{"canal", topology.NetworkSpec{Mode: set("canal")}, 1450, 1450},
		{"encrypted", topology.NetworkSpec{Mode: set("encrypted")}, 1448, 1448},
		{"bridge", topology.NetworkSpec{Mode: set("bridge")}, 1500, 0},
		{"wireguard", topology.NetworkSpec{Mode: set("wireguard")}, 1440, 1440},
		{"wireguard over IPv6", topology.NetworkSpec{Mode: set("wireguard"), Families: set("ipv6")}, 1420, 1420},
		{"ipsec", topology.NetworkSpec{Mode: set("ipsec")}, 1446, 0},
		{"ipsec over both families", topology.NetworkSpec{Mode: set("ipsec"), Families: set("dual")}, 1426, 0},
		{"none", topology.NetworkSpec{Mode: set("none")}, 1500, 0},
	}
	for _, m := range datapath.Catalogue().Networks {
		if !slices.ContainsFunc(rows, func(r mtuRow) bool { return r.name == m.Name }) {
			t.Errorf("%s: which MTU do pods and tunnels have? Add a row to this test", m.Name)
		}
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p := compile(t, topology.Spec{Network: row.network, Nodes: nodes("node1", "node2"), Pods: []topology.PodSpec{pod("web", 0, "node1")}})
			underlay := row.network.MTU.Or(1500)
			tunnel := 0
			for _, n := range p.Netns {
				for _, l := range n.Links {
					want := underlay
					switch {
					case l.Name == "flannel.1", l.Name == "tunl0", l.Type == plan.TUN, l.Type == plan.WireGuard:
						tunnel, want = l.MTU, row.tunnel
					case l.Name == "flannel-v6.1", n.Kind == plan.Pod, l.Name == "cni0", l.Name == "docker0", strings.HasPrefix(l.Name, "veth"), strings.HasPrefix(l.Name, "cali"):
						want = row.pod
					}
					if l.MTU != want {
						t.Errorf("%s %s: mtu %d, want %d", n.Name, l.Name, l.MTU, want)
					}
				}
			}
			if tunnel != row.tunnel {
				t.Errorf("tunnel: mtu %d, want %d", tunnel, row.tunnel)
			}
		})
	}
}

// As the essays of the modes promise.
func TestEntriesGrowWithNodesNotPods(t *testing.T) {
	count := func(mode string, nodeCount, podCount int) (routes, neighs, fdb int) {
		spec := topology.Spec{Network: topology.NetworkSpec{Mode: set(mode)}}
		for i := range nodeCount {
			spec.Nodes = append(spec.Nodes, nodes(fmt.Sprintf("node%d", i+1))...)
		}
		for i := range podCount {
			spec.Pods = append(spec.Pods, pod("web", i, "node2"))
		}
		n := compile(t, spec).Netns[1]
		return len(n.Routes), len(n.Neighs), len(n.FDB)
	}
	const others = 4
	for _, m := range datapath.Catalogue().Networks {
		routes, entries := 1, 0 // the default route
		switch {
		case m.Tunnel == topology.UDPTunnel:
			routes++ // to the program, which knows the nodes
		case m.Tunnel == topology.ESPTunnel: // policies, no routes
		case m.Routed:
			routes += others
		}
		if m.DiscardsUnused {
			routes++
		}
		if m.Tunnel == topology.VXLANTunnel {
			entries = others
		}
		for _, pods := range []int{1, 100} {
			if r, n, f := count(m.Name, others+1, pods); r != routes || n != entries || f != entries {
				t.Errorf("%s, %d pods: %d routes, %d neighbours, %d FDB entries, but by its facts (routed %v, tunnel %q) %d, %d and %d",
					m.Name, pods, r, n, f, m.Routed, m.Tunnel, routes, entries, entries)
			}
		}
	}
}

func TestLinkNamesFitTheKernelAndAreUnique(t *testing.T) {
	spec := topology.Spec{Nodes: nodes("a", "br0", "lo", "a-very-long-node-name-1", "a-very-long-node-name-2"),
		Clients: []topology.ClientSpec{{Name: "client"}, {Name: "a-very-long-node-name-3"}}}
	for _, n := range compile(t, spec).Netns {
		seen := map[string]bool{"lo": true}
		for _, l := range n.Links {
			if len(l.Name) > 15 || seen[l.Name] {
				t.Errorf("%s: bad link name %q", n.Name, l.Name)
			}
			seen[l.Name] = true
		}
	}
}

func TestVethsArePeersOfEachOther(t *testing.T) {
	for _, l := range labs {
		ends := map[plan.Peer]plan.Peer{}
		macs := map[[6]byte]string{}
		sameMACs := resolved(t, l.spec).Network.Mode.SharedCIDR // as the addresses that they follow from
		for _, n := range compile(t, l.spec).Netns {
			for _, link := range n.Links {
				if link.Type == plan.Veth {
					ends[plan.Peer{Netns: n.Name, Link: link.Name}] = link.Peer
				}
				if other := macs[link.MAC]; other != "" && !sameMACs && link.Name != "docker0" && link.MAC != (plan.MAC{}) && !strings.HasPrefix(link.Name, "flannel") && !strings.HasPrefix(link.Name, "cali") {
					t.Errorf("%s: %s %s has the MAC of %s", l.name, n.Name, link.Name, other)
				}
				macs[link.MAC] = n.Name + " " + link.Name
			}
		}
		for here, there := range ends {
			if ends[there] != here {
				t.Errorf("%s: %v has the peer %v, whose peer is %v", l.name, here, there, ends[there])
			}
		}
	}
}

func TestUnknownModesAreErrors(t *testing.T) {
	lab := resolved(t, labs[0].spec)
	lab.Network.Mode.Name = "pigeon"
	if _, err := datapath.Compile(lab); err == nil || !strings.Contains(err.Error(), `"pigeon"`) {
		t.Errorf("got %v", err)
	}
	lab = resolved(t, labs[0].spec)
	lab.Proxy.Mode.Name = "pigeon"
	if _, err := datapath.Compile(lab); err == nil || !strings.Contains(err.Error(), `"pigeon"`) {
		t.Errorf("got %v", err)
	}
}
