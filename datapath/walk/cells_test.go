package walk_test

import (
	"math"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/topology"
)

// cell is one flow in a lab and its results.
type cell struct{ from, to, want string }

// matrix is a lab and its expected results. Every cell is checked on paper here and
// against the kernel in agreement_linux_test.go.
type matrix struct {
	name   string
	spec   topology.Spec
	damage func(t testing.TB, l lab) // nil: none
	cells  []cell
}

const everyone = "a-0 from shell-3, a-1 from shell-3, b-0 from shell-3"

// matrices are the table of service semantics, then labs with a fault.
func matrices() []matrix {
	return []matrix{{
		name: "vxlan", spec: threeNodes("vxlan"), cells: slices.Concat(internalCells(), externalCells("node1/flannel.1", "node3/flannel.1"), localCells(), otherCells()),
	}, {
		name: "host-gw", spec: threeNodes("host-gw"), cells: slices.Concat(internalCells(), externalCells("node1", "node3"), localCells(), otherCells()),
	}, {
		name: "addresses outside", spec: balancers(), cells: balancerCells(),
	}, {
		name: "masquerade all", spec: edit(threeNodes("host-gw"), func(s *topology.Spec) { s.Proxy.MasqueradeAll = set(true) }),
		cells: []cell{{"shell-1", "service own", "a-0 from node1/cni0, a-1 from node1/cni0"}, {"shell-3", "service own", "a-0 from node3, a-1 from node3"}},
	}, {
		name: "no local detector", spec: edit(threeNodes("host-gw"), func(s *topology.Spec) { s.Proxy.DetectLocal = set("none") }),
		cells: []cell{{"shell-1", "node1:30081", "a-0 from shell-1, a-1 from shell-1"}, {"node1", "node1:30081", "a-0 from node1/cni0, a-1 from node1/cni0, b-0 from node1"}},
	}, {
		name: "no forwarding entry", spec: threeNodes("vxlan"),
		damage: func(t testing.TB, l lab) { l.netns(t, "node.node3").FDB = nil },
		cells:  []cell{{"shell-3", "a-0:8080", "timeout"}, {"shell-1", "b-0:8080", "b-0 from shell-1"}, {"shell-1", "shell-3:8080", "timeout"}},
	}, {
		name: "no neighbour entry", spec: threeNodes("vxlan"),
		damage: func(t testing.TB, l lab) { l.netns(t, "node.node3").Neighs = nil },
		cells:  []cell{{"shell-3", "a-0:8080", "timeout"}, {"shell-3", "service own", "timeout"}},
	}, {
		name: "no route", spec: threeNodes("host-gw"),
		damage: func(t testing.TB, l lab) {
			n := l.netns(t, "node.node3")
			n.Routes = slices.DeleteFunc(n.Routes, func(r plan.Route) bool { return r.Via.String() == "192.168.0.11" })
		},
		// By the default route, where no host forwards.
		cells: []cell{{"shell-3", "a-0:8080", "timeout"}, {"shell-1", "shell-3:8080", "timeout"}},
	}, {
		name: "no route at all", spec: threeNodes("host-gw"),
		damage: func(t testing.TB, l lab) { l.netns(t, "node.node3").Routes = nil },
		cells: []cell{{"shell-3", "a-0:8080", "unreachable"}, {"node3", "a-0:8080", "unreachable"},
			{"node3", "service own", "unreachable"}, {"shell-3", "service own", "unreachable"}},
	}, {
		name: "bridged frames not filtered", spec: threeNodes("vxlan"), damage: sysctl("net.bridge.bridge-nf-call-iptables", "0"),
		cells: []cell{{"shell-1", "service own", "timeout"}, {"shell-1", "service remote", "timeout"}, {"shell-1", "node1:30085", "a-0 from node1/cni0, a-1 from node1/cni0"},
			{"shell-2", "service own", "a-0 from shell-2, a-1 from shell-2"}, {"a-0", "service own", "a-0 from node1/cni0, timeout"}, {"shell-1", "a-0:8080", "a-0 from shell-1"}},
	}, {
		name: "hairpin off", spec: threeNodes("vxlan"),
		damage: func(t testing.TB, l lab) {
			for i := range l.netns(t, "node.node1").Links {
				l.netns(t, "node.node1").Links[i].Hairpin = false
			}
		},
		cells: []cell{{"a-0", "service own", "a-1 from a-0, timeout"}, {"a-0", "node1:30085", "a-1 from node1/cni0, timeout"}, {"shell-1", "service own", "a-0 from shell-1, a-1 from shell-1"}},
	}, {
		name: "no hairpin masquerade", spec: threeNodes("vxlan"), damage: withoutRules(func(r *iptables.Rule) bool {
			return len(r.Matches) == 2 && r.Target == iptables.Target(iptables.Jump{Chain: "KUBE-MARK-MASQ"})
		}),
		cells: []cell{{"a-0", "service own", "a-1 from a-0, timeout"}},
	}, {
		name: "no router", spec: threeNodes("vxlan"), damage: sysctl("net.ipv4.ip_forward", "0"),
		// Bridging needs no forwarding, except after DNAT.
		cells: []cell{{"shell-1", "a-0:8080", "a-0 from shell-1"}, {"shell-1", "b-0:8080", "timeout"}, {"shell-1", "service own", "timeout"},
			{"laptop", "node1:30085", "timeout"}, {"node1", "service own", "a-0 from node1/cni0, a-1 from node1/cni0"}},
	}, {
		name: "no node ports on the loopback address", spec: threeNodes("vxlan"), damage: sysctl("net.ipv4.conf.all.route_localnet", "0"),
		cells: []cell{{"node1", "127.0.0.1:30085", "timeout"}, {"node1", "node1:30085", "a-0 from node1/cni0, a-1 from node1/cni0"}},
	}, {
		name: "pods keep their address when leaving the cluster", spec: threeNodes("host-gw"),
		// Node 1 treats a pod of node 3 as inside the cluster, spreads over all
		// endpoints and does not masquerade; one on node 2 replies directly, bypassing
		// node 1.
		damage: withoutRules(func(r *iptables.Rule) bool {
			return r.Target == iptables.Target(iptables.Masquerade{RandomFully: true}) && len(r.Matches) == 3
		}),
		cells: []cell{{"shell-3", "node1:30081", "a-0 from shell-3, a-1 from shell-3, timeout"}, {"shell-3", "node1:30082", "timeout"},
			{"shell-1", "node3:30081", "timeout"}, {"shell-3", "laptop:80", "timeout"}},
	}, {
		name: "strict reverse path", spec: threeNodes("vxlan"), damage: func(t testing.TB, l lab) {
			n := l.netns(t, "node.node1")
			setSysctl(n, "net.ipv4.conf.all.rp_filter", "1")
			// Back over the underlay, while packets arrive through the tunnel.
			for i := range n.Routes {
				if r := &n.Routes[i]; r.To.String() == "10.244.3.0/24" {
					r.Via, r.Dev, r.OnLink = l.Nodes[2].Addrs[0], "eth0", false
				}
			}
		},
		cells: []cell{{"shell-3", "a-0:8080", "timeout"}, {"shell-2", "a-0:8080", "a-0 from shell-2"}},
	}, {
		name: "asymmetric but not strict", spec: threeNodes("vxlan"), damage: func(t testing.TB, l lab) {
			n := l.netns(t, "node.node1")
			for i := range n.Routes {
				if r := &n.Routes[i]; r.To.String() == "10.244.3.0/24" {
					r.Via, r.Dev, r.OnLink = l.Nodes[2].Addrs[0], "eth0", false
				}
			}
		},
		cells: []cell{{"shell-3", "a-0:8080", "a-0 from shell-3"}},
	}, {
		name: "policy of FORWARD is DROP", spec: threeNodes("vxlan"), damage: func(t testing.TB, l lab) {
			for _, tb := range l.netns(t, "node.node2").Tables {
				for i := range tb.Chains {
					if tb.Name == "filter" && tb.Chains[i].Name == "FORWARD" {
						tb.Chains[i].Policy = "DROP"
						tb.Chains[i].Rules = nil
					}
				}
			}
		},
		cells: []cell{{"shell-1", "b-0:8080", "timeout"}, {"node2", "b-0:8080", "b-0 from node2/cni0"}, {"shell-2", "b-0:8080", "timeout"}, {"shell-1", "a-0:8080", "a-0 from shell-1"}},
	}, {
		name: "dual stack", spec: dualStack(), cells: []cell{
			{"shell-1", "service own", "a-0 from shell-1, a-1 from shell-1"}, {"node3", "service own", "a-0 from node3/flannel-v6.1, a-1 from node3/flannel-v6.1"},
			{"shell-3", "service empty", "refused"}, {"shell-3", "service remote", "timeout"}, {"a-0", "service own", "a-0 from node1/cni0, a-1 from a-0"},
			{"laptop", "[fd00:192:168::b]:30085", "a-0 from node1/cni0, a-1 from node1/cni0"}, {"laptop", "[fd00:dead::1]:80", "timeout"},
			{"node1", "[::1]:30085", "refused"}, {"shell-2", "service nodatagrams/udp", "refused"},
		},
	}}
}

func dualStack() topology.Spec {
	return edit(threeNodes("vxlan"), func(s *topology.Spec) {
		s.Network.PodCIDRs = set(prefixes("fd00:10:244::/56", "10.244.0.0/16"))
		s.Network.ServiceCIDRs = set(prefixes("fd00:10:96::/112", "10.96.0.0/16"))
		s.Network.NodeCIDRs = set(prefixes("fd00:192:168::/64", "192.168.0.0/24"))
	})
}

// internalCells are the cluster IPs.
func internalCells() []cell {
	return []cell{
		{"shell-3", "service cluster", everyone},
		{"shell-1", "service own", "a-0 from shell-1, a-1 from shell-1"},
		{"a-0", "service own", "a-0 from node1/cni0, a-1 from a-0"},
		{"node1", "service own", "a-0 from node1/cni0, a-1 from node1/cni0"},
		{"laptop", "service own", "a-0 from node1/cni0, a-1 from node1/cni0"},
		{"shell-3", "service empty", "refused"},
		{"node3", "service empty", "refused"},
		{"laptop", "service empty", "refused"},
		{"shell-1", "service local", "a-0 from shell-1, a-1 from shell-1"},
		{"node1", "service local", "a-0 from node1/cni0, a-1 from node1/cni0"},
		{"laptop", "service local", "a-0 from node1/cni0, a-1 from node1/cni0"},
		{"shell-3", "service local", "timeout"},
		{"node3", "service local", "timeout"},
		{"laptop", "service remote", "timeout"},
		{"shell-1", "service emptylocal", "refused"},
		{"laptop", "service emptylocal", "refused"},
		{"shell-3", "service host", "host-2 from node3"},
		{"node2", "service host", "host-2 from node2"},
		{"shell-2", "service host", "host-2 from shell-2"},
	}
}

// externalCells are node ports under policy Cluster; node1 and node3 are what
// masqueraded packets have as source when they go to another node.
func externalCells(node1, node3 string) []cell {
	all := func(same, other string) string {
		return "a-0 from " + same + ", a-1 from " + same + ", b-0 from " + other
	}
	return []cell{
		{"laptop", "node1:30080", all("node1/cni0", node1)},
		{"laptop", "node3:30080", all(node3, node3)},
		{"shell-1", "node1:30080", all("node1/cni0", node1)},
		{"shell-3", "node1:30080", all("node1/cni0", node1)},
		{"node1", "node1:30080", all("node1/cni0", node1)},
		{"node1", "127.0.0.1:30080", all("node1/cni0", node1)},
		{"node3", "service cluster", all(node3, node3)},
		{"a-0", "node1:30085", "a-0 from node1/cni0, a-1 from node1/cni0"},
		{"laptop", "node1:30083", "refused"},
		{"laptop", "node3:30083", "refused"},
		{"shell-1", "node1:30083", "refused"},
		{"shell-3", "node1:30083", "refused"},
		{"node1", "node1:30083", "refused"},
		// The endpoint's node treats the packet as coming from outside.
		{"shell-1", "node1:30081", "a-0 from shell-1, a-1 from shell-1, b-0 from shell-1"},
		{"node1", "node1:30081", all("node1/cni0", node1)},
		{"shell-1", "node1:30082", "b-0 from shell-1"},
		{"node1", "node1:30082", "b-0 from " + node1},
	}
}

// localCells are node ports under policy Local.
func localCells() []cell {
	return []cell{
		{"laptop", "node1:30081", "a-0 from laptop, a-1 from laptop"},
		{"laptop", "node2:30081", "b-0 from laptop"},
		{"laptop", "node3:30081", "timeout"},
		{"laptop", "node1:30082", "timeout"},
		{"node1", "node2:30081", "b-0 from node1"},
		{"node1", "node3:30081", "timeout"},
		// The pod network masquerades what leaves the pod CIDR: pods of other nodes
		// appear as their node.
		{"shell-3", "node1:30081", "a-0 from node3, a-1 from node3"},
		{"shell-3", "node1:30082", "timeout"},
		{"laptop", "node1:30084", "refused"},
		{"laptop", "node3:30084", "refused"},
		{"shell-1", "node1:30084", "refused"},
		{"node1", "node1:30084", "refused"},
	}
}

// otherCells are flows that services do not touch, datagrams, and wrong addresses.
func otherCells() []cell {
	return []cell{
		{"shell-1", "a-0:8080", "a-0 from shell-1"},
		{"shell-3", "a-0:8080", "a-0 from shell-3"},
		{"a-0", "a-0:8080", "a-0 from a-0"},
		{"node1", "a-0:8080", "a-0 from node1/cni0"},
		{"a-0", "127.0.0.1:8080", "a-0 from 127.0.0.1"},
		{"shell-1", "a-0:81", "refused"},
		{"shell-1", "10.244.1.7:80", "timeout"},
		{"shell-3", "10.244.1.7:80", "timeout"},
		{"shell-3", "laptop:80", "laptop from node3"},
		{"node3", "laptop:80", "laptop from node3"},
		{"shell-3", "laptop:81", "refused"},
		{"laptop", "node1:81", "refused"},
		{"laptop", "a-0:8080", "timeout"},
		{"laptop", "203.0.113.7:80", "timeout"},
		{"shell-1", "service own:81", "timeout"}, // no rule: leaves by the default route
		{"shell-3", "node2:9090", "host-2 from node3"},
		{"shell-3", "service datagrams/udp", everyone},
		{"laptop", "node1:30087/udp", "a-0 from node1/cni0, a-1 from node1/cni0, b-0 from " + "*"},
		{"shell-3", "service nodatagrams/udp", "refused"},
		{"node3", "service nodatagrams/udp", "refused"},
		{"laptop", "node1:30088/udp", "refused"},
		{"shell-1", "a-0:54/udp", "refused"},
	}
}

func sysctl(key, value string) func(testing.TB, lab) {
	return func(t testing.TB, l lab) { setSysctl(l.netns(t, "node.node1"), key, value) }
}

func setSysctl(n *plan.Netns, key, value string) {
	for i := range n.Sysctls {
		if n.Sysctls[i].Key == key {
			n.Sysctls[i].Value = value
			return
		}
	}
	n.Sysctls = append(n.Sysctls, plan.Sysctl{Key: key, Value: value})
}

// withoutRules removes rules from the nat tables of all namespaces.
func withoutRules(which func(*iptables.Rule) bool) func(testing.TB, lab) {
	return func(_ testing.TB, l lab) {
		for _, n := range l.plan.Netns {
			for _, tb := range n.Tables {
				for i := range tb.Chains {
					if c := &tb.Chains[i]; tb.Name == "nat" && c.Name != "KUBE-POSTROUTING" {
						c.Rules = slices.DeleteFunc(c.Rules, func(r iptables.Rule) bool { return which(&r) })
					}
				}
			}
		}
	}
}

func (m matrix) build(t testing.TB) lab {
	l := build(t, m.spec)
	if m.damage != nil {
		m.damage(t, l)
	}
	return l
}

func TestPredictions(t *testing.T) {
	for _, m := range matrices() {
		t.Run(m.name, func(t *testing.T) {
			l := m.build(t)
			w := walk.New(l.plan)
			for _, c := range m.cells {
				p := w.Walk(l.flow(t, c.from, c.to))
				if got := l.ends(p); !like(got, c.want) {
					t.Errorf("%s to %s:\n got %s\nwant %s\n%s", c.from, c.to, got, c.want, p.Text(walk.Brief))
				}
				sum := 0.0
				for _, b := range p.Branches {
					sum += b.Probability
				}
				if math.Abs(sum-1) > 1e-9 {
					t.Errorf("%s to %s: the probabilities add up to %v", c.from, c.to, sum)
				}
			}
		})
	}
}

// like compares with a pattern that may end in *.
func like(got, want string) bool {
	if n := len(want) - 1; n >= 0 && want[n] == '*' {
		return len(got) >= n && got[:n] == want[:n]
	}
	return got == want
}
