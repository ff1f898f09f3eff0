package plan

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// pair is a lab of one node with one pod:
//
//	pod.web-0 [eth0] --- [veth1 cni0] node.node1
func pair() *Plan {
	web := Origin{Object: "pod web-0", File: "a.hcl", Line: 9}
	svc := Origin{Object: "service default/web", File: "a.hcl", Line: 12}
	node := Origin{Object: "node node1", File: "a.hcl", Line: 3}
	addr := netip.MustParseAddr
	return &Plan{Lab: "pair", Netns: []Netns{{
		Name: "node.node1", Kind: Node, Origin: node,
		Links: []Link{
			{Name: "cni0", Type: Bridge, MTU: 1450, MAC: [6]byte{2, 0, 0, 0, 0, 1}, Origin: node},
			{Name: "flannel.1", Type: VXLAN, MTU: 1450, VXLAN: VXLANAttrs{ID: 1, Port: 8472, Local: addr("192.168.0.1"), Dev: "eth0"}, Origin: node},
			{Name: "veth1", Type: Veth, MTU: 1450, Master: "cni0", Hairpin: true, Peer: Peer{"pod.web-0", "eth0"}, Origin: web},
		},
		Addrs: []Addr{{"cni0", prefix("10.244.1.1/24"), node}},
		Routes: []Route{{To: prefix("10.244.2.0/24"), Via: addr("10.244.2.0"), Dev: "flannel.1", OnLink: true, Origin: node},
			{Type: Blackhole, To: prefix("10.244.11.0/24"), Protocol: Bird, Origin: node}},
		Neighs:  []Neigh{{"flannel.1", addr("10.244.2.0"), [6]byte{2, 0, 0, 0, 0, 2}, node}},
		FDB:     []FDB{{"flannel.1", addr("192.168.0.2"), [6]byte{2, 0, 0, 0, 0, 2}, node}},
		Sysctls: []Sysctl{{"net.ipv4.ip_forward", "1"}},
		Tables: []iptables.Table{{Name: "nat", Chains: []iptables.Chain{
			{Name: "PREROUTING", Policy: "ACCEPT", Rules: []iptables.Rule{{Target: iptables.Jump{Chain: "KUBE-SERVICES"}}}},
			{Name: "KUBE-SERVICES", Rules: []iptables.Rule{
				{Matches: []iptables.Match{iptables.Comment{Text: "default/web:http cluster IP"}, iptables.Proto{Name: "tcp"}, iptables.Dst{Prefix: prefix("10.96.0.1/32")}, iptables.DPort{Port: 80}}, Target: iptables.Jump{Chain: "KUBE-SVC"}, Origin: svc},
				{Target: iptables.Return{}},
			}},
			{Name: "KUBE-SVC", Rules: []iptables.Rule{{Target: iptables.DNAT{To: netip.MustParseAddrPort("10.244.1.2:8080")}, Origin: svc}}},
		}}},
	}, {
		Name: "pod.web-0", Kind: Pod, Origin: web,
		Links:  []Link{{Name: "eth0", Type: Veth, MTU: 1450, MAC: [6]byte{2, 0, 0, 0, 0, 3}, Peer: Peer{"node.node1", "veth1"}, Origin: web}},
		Addrs:  []Addr{{"eth0", prefix("10.244.1.2/24"), web}},
		Routes: []Route{{To: prefix("0.0.0.0/0"), Via: addr("10.244.1.1"), Dev: "eth0", Origin: web}},
		Agents: []occupant.Agent{{Name: "web-0", Node: "node1", Listen: []occupant.Listen{{Protocol: "tcp", Port: 8080}}, Origin: web}},
	}}}
}

// changesRows are edits of the plan with the changes expected from them.
var changesRows = []struct {
	name  string
	edit  func(have, want *Plan)
	lines []string
	drift []string
}{{
	name: "nothing",
	edit: func(_, _ *Plan) {},
}, {
	name: "only the line number",
	edit: func(_, want *Plan) { want.Netns[0].Origin.Line = 99; want.Netns[0].Links[0].Origin.Line = 99 },
}, {
	name: "rules read as text",
	edit: func(have, _ *Plan) {
		for _, c := range have.Netns[0].Tables[0].Chains {
			for i := range c.Rules {
				c.Rules[i] = iptables.Rule{Raw: c.Rules[i].Save()}
			}
		}
	},
}, {
	name: "a removed rule",
	edit: func(have, _ *Plan) { c := &have.Netns[0].Tables[0].Chains[1]; c.Rules = c.Rules[1:] },
	lines: []string{"ip netns exec node.node1 iptables-restore --noflush <<'EOF'", "*nat", ":KUBE-SERVICES - [0:0]",
		"# a.hcl:12 service default/web",
		`-A KUBE-SERVICES -m comment --comment "default/web:http cluster IP" -m tcp -p tcp -d 10.96.0.1 --dport 80 -j KUBE-SVC`,
		"-A KUBE-SERVICES -j RETURN", "COMMIT", "EOF"},
	drift: []string{`node.node1: nat KUBE-SERVICES: rule missing: -d 10.96.0.1/32 -p tcp -m comment --comment "default/web:http cluster IP" -m tcp --dport 80 -j KUBE-SVC (a.hcl:12 service default/web)`},
}, {
	name:  "swapped rules",
	edit:  func(have, _ *Plan) { r := have.Netns[0].Tables[0].Chains[1].Rules; r[0], r[1] = r[1], r[0] },
	drift: []string{`node.node1: nat KUBE-SERVICES: rules out of order from number 1: -d 10.96.0.1/32 -p tcp -m comment --comment "default/web:http cluster IP" -m tcp --dport 80 -j KUBE-SVC (a.hcl:12 service default/web)`},
}, {
	name: "a chain and a policy not in the plan",
	edit: func(have, _ *Plan) {
		t := &have.Netns[0].Tables[0]
		t.Chains = append(t.Chains, iptables.Chain{Name: "MINE"}, iptables.Chain{Name: "OUTPUT", Policy: "DROP", Rules: []iptables.Rule{{Raw: "-j MINE"}}})
	},
	lines: []string{"ip netns exec node.node1 iptables-restore --noflush <<'EOF'", "*nat", ":OUTPUT ACCEPT [0:0]", ":MINE - [0:0]",
		"-F OUTPUT", "-X MINE", "COMMIT", "EOF"},
	drift: []string{"node.node1: nat OUTPUT: policy is DROP, want ACCEPT", "node.node1: nat OUTPUT: rule not in the plan: -j MINE",
		"node.node1: nat MINE: chain not in the plan"},
}, {
	name: "a table no longer wanted",
	edit: func(_, want *Plan) { want.Netns[0].Tables = nil },
	lines: []string{"ip netns exec node.node1 iptables-restore --noflush <<'EOF'", "*nat",
		":PREROUTING ACCEPT [0:0]", ":KUBE-SERVICES - [0:0]", ":KUBE-SVC - [0:0]", "-F PREROUTING",
		"-X KUBE-SERVICES", "-X KUBE-SVC", "COMMIT", "EOF"},
	drift: []string{"node.node1: nat PREROUTING: rule not in the plan: -j KUBE-SERVICES",
		"node.node1: nat KUBE-SERVICES: chain not in the plan", "node.node1: nat KUBE-SVC: chain not in the plan"},
}, {
	name: "a changed route and neighbour",
	edit: func(_, want *Plan) {
		want.Netns[0].Routes[0].OnLink = false
		want.Netns[0].Neighs[0].MAC[5] = 7
	},
	lines: []string{"# a.hcl:3 node node1", "ip -n node.node1 neigh replace 10.244.2.0 lladdr 02:00:00:00:00:07 dev flannel.1 nud permanent",
		"ip -n node.node1 route replace 10.244.2.0/24 via 10.244.2.0 dev flannel.1"},
	drift: []string{"node.node1: route 10.244.2.0/24 via 10.244.2.0 dev flannel.1 changed (a.hcl:3 node node1)",
		"node.node1: neighbour 10.244.2.0 lladdr 02:00:00:00:00:07 dev flannel.1 changed (a.hcl:3 node node1)"},
}, {
	name:  "a second next hop",
	edit:  func(_, want *Plan) { want.Netns[0].Routes[0].More = []netip.Addr{netip.MustParseAddr("10.244.2.7")} },
	lines: []string{"# a.hcl:3 node node1", "ip -n node.node1 route replace 10.244.2.0/24 nexthop via 10.244.2.0 dev flannel.1 onlink nexthop via 10.244.2.7 dev flannel.1 onlink"},
	drift: []string{"node.node1: route 10.244.2.0/24 nexthop via 10.244.2.0 dev flannel.1 onlink nexthop via 10.244.2.7 dev flannel.1 onlink changed (a.hcl:3 node node1)"},
}, {
	name: "a health check agent with one endpoint fewer",
	edit: func(have, want *Plan) {
		agent := occupant.Agent{Name: "health default/web", Node: "node1", Listen: []occupant.Listen{{Protocol: "tcp", Port: 32000}}, Health: occupant.Health{Namespace: "default", Service: "web", LocalEndpoints: 2}}
		have.Netns[0].Agents = []occupant.Agent{agent}
		agent.Health.LocalEndpoints = 1
		want.Netns[0].Agents = []occupant.Agent{agent}
	},
	lines: []string{"# change agent health default/web (tcp/32000) on node1 answers health checks of default/web: local endpoints 1"},
	drift: []string{"node.node1: agent health default/web (tcp/32000) on node1 answers health checks of default/web: local endpoints 1 changed"},
}, {
	name: "UDP services, of which the kernel keeps no record",
	edit: func(_, want *Plan) { want.Netns[0].UDP = []conntrack.UDPService{{NodePort: 30053}} },
}, {
	name:  "a route moves to another link",
	edit:  func(have, _ *Plan) { have.Netns[0].Routes[0].Dev = "eth0" },
	lines: []string{"# a.hcl:3 node node1", "ip -n node.node1 route replace 10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink"},
}, {
	name:  "a link with another MTU",
	edit:  func(have, _ *Plan) { have.Netns[0].Links[0].MTU = 1500 },
	lines: []string{"# a.hcl:3 node node1", "ip -n node.node1 link set dev cni0 mtu 1450 address 02:00:00:00:00:01", "ip -n node.node1 link set dev cni0 up"},
	drift: []string{"node.node1: link cni0 changed: mtu is 1500, want 1450 (a.hcl:3 node node1)"},
}, {
	name: "a tunnel with another port is recreated with all that depends on it",
	edit: func(have, _ *Plan) { have.Netns[0].Links[1].VXLAN.Port = 4789 },
	lines: []string{"ip -n node.node1 link delete dev flannel.1", "# a.hcl:3 node node1",
		"ip -n node.node1 link add dev flannel.1 mtu 1450 type vxlan id 1 local 192.168.0.1 dev eth0 dstport 8472 nolearning",
		"ip -n node.node1 link set dev flannel.1 up",
		"ip -n node.node1 neigh add 10.244.2.0 lladdr 02:00:00:00:00:02 dev flannel.1 nud permanent",
		"bridge -n node.node1 fdb append 02:00:00:00:00:02 dev flannel.1 dst 192.168.0.2 self permanent",
		"ip -n node.node1 route add 10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink"},
}, {
	name:  "a pod is removed",
	edit:  func(_, want *Plan) { want.Netns = want.Netns[:1]; want.Netns[0].Links = want.Netns[0].Links[:2] },
	lines: []string{"ip netns delete pod.web-0", "# also removed: veth1 in node.node1"},
	drift: []string{"node.node1: link veth1 not in the plan", "pod.web-0: network namespace not in the plan"},
}, {
	name: "a pod is added",
	edit: func(have, _ *Plan) { have.Netns = have.Netns[:1]; have.Netns[0].Links = have.Netns[0].Links[:2] },
	lines: []string{"# a.hcl:9 pod web-0", "ip netns add pod.web-0",
		"ip netns exec pod.web-0 sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1",
		"ip -n pod.web-0 link set dev lo up",
		"ip -n pod.web-0 link add dev eth0 mtu 1450 address 02:00:00:00:00:03 type veth peer name veth1 mtu 1450 netns node.node1",
		"ip -n node.node1 link set dev veth1 master cni0", "bridge -n node.node1 link set dev veth1 hairpin on",
		"ip -n node.node1 link set dev veth1 up", "ip -n pod.web-0 link set dev eth0 up",
		"ip -n pod.web-0 address add 10.244.1.2/24 dev eth0",
		"ip -n pod.web-0 route add default via 10.244.1.1 dev eth0", "# agent web-0 (tcp/8080) on node1", ""},
	drift: []string{"pod.web-0: network namespace missing (a.hcl:9 pod web-0)", "node.node1: link veth1 missing (a.hcl:9 pod web-0)"},
}, {
	name:  "an agent listens on another port",
	edit:  func(_, want *Plan) { want.Netns[1].Agents[0].Listen[0].Port = 81 },
	lines: []string{"# a.hcl:9 pod web-0", "# change agent web-0 (tcp/81) on node1"},
	drift: []string{"pod.web-0: agent web-0 (tcp/81) on node1 changed (a.hcl:9 pod web-0)"},
}}

func TestDiffTurnsOnePlanIntoAnother(t *testing.T) {
	for _, row := range changesRows {
		t.Run(row.name, func(t *testing.T) {
			have, want := pair(), pair()
			row.edit(have, want)
			c := Diff(have, want)
			if row.lines == nil && row.drift == nil {
				if !c.Empty() || c.Summary() != "no change" {
					t.Fatalf("not empty: %+v", c)
				}
				return
			}
			if got, want := strings.Join(c.Lines(), "\n"), strings.Join(row.lines, "\n"); row.lines != nil && strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("Lines\n got:\n%s\nwant:\n%s", got, want)
			}
			if got, want := strings.Join(Drift(have, want), "\n"), strings.Join(row.drift, "\n"); row.drift != nil && got != want {
				t.Errorf("Drift\n got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestDiffWithNothingCreatesOrRemovesAll(t *testing.T) {
	p := pair()
	if c := Diff(&Plan{}, p); len(c.Create) != 2 || len(c.Edit) != 0 || len(c.Remove) != 0 {
		t.Errorf("from nothing: %+v", c)
	}
	if c := Diff(p, &Plan{}); len(c.Create) != 0 || len(c.Edit) != 0 || len(c.Remove) != 2 {
		t.Errorf("to nothing: %+v", c)
	}
}

func TestSummaryCounts(t *testing.T) {
	have, want := pair(), pair()
	want.Netns[0].Tables[0].Chains[1].Rules = nil
	want.Netns[0].Addrs = nil
	have.Netns = append(have.Netns, Netns{Name: "pod.x", Kind: Pod})
	if got, want := Diff(have, want).Summary(), "1 network namespace changed (1 address, 1 chain), 1 network namespace removed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLinesFromNothingAreTheText(t *testing.T) {
	p := pair()
	if got := strings.Join(Diff(&Plan{}, p).Lines(), "\n") + "\n"; got != string(p.Text()) {
		t.Errorf("got\n%s\nwant\n%s", got, p.Text())
	}
}

func TestDigestFollowsTheText(t *testing.T) {
	a, b := pair(), pair()
	if a.Digest() != b.Digest() {
		t.Error("equal plans differ")
	}
	b.Netns[1].Agents[0].Listen[0].Port++
	if a.Digest() == b.Digest() {
		t.Error("different plans do not")
	}
}

// The connection tracking table is read for stale entries of UDP services when address
// translation changes, and not for a change of policies alone.
func TestEditsOfTranslationCarryTheUDPServices(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(have, want *Netns)
		udp  bool
	}{
		{"a NAT rule", func(_, want *Netns) {
			want.Tables[0].Chains[2].Rules[0].Target = iptables.DNAT{To: netip.MustParseAddrPort("10.244.1.3:8080")}
		}, true},
		{"removed NAT rules", func(have, _ *Netns) { have.Tables = nil }, true},
		{"a filter rule", func(_, want *Netns) {
			want.Tables = append(want.Tables, iptables.Table{Name: "filter", Chains: []iptables.Chain{{Name: "FORWARD", Policy: "DROP"}}})
		}, false},
		{"a virtual server", func(_, want *Netns) {
			want.Virtual = []ipvs.Server{{Addr: netip.MustParseAddrPort("10.96.0.10:53"), Proto: "udp", Scheduler: "rr"}}
		}, true},
		{"a removed virtual server", func(have, _ *Netns) {
			have.Virtual = []ipvs.Server{{Addr: netip.MustParseAddrPort("10.96.0.10:53"), Proto: "udp", Scheduler: "rr"}}
		}, true},
		{"an nf_tables filter chain", func(_, want *Netns) { want.NFT = []nft.Table{nftTable("filter")} }, false},
		{"an nf_tables NAT chain", func(_, want *Netns) { want.NFT = []nft.Table{nftTable("nat")} }, true},
		{"a set beside a NAT chain", func(have, want *Netns) {
			have.NFT, want.NFT = []nft.Table{nftTable("nat")}, []nft.Table{nftTable("nat")}
			want.NFT[0].Sets = []nft.Set{{Name: "s", Key: []nft.Type{nft.IPv4}}}
		}, true},
		{"a removed nf_tables table with NAT", func(have, _ *Netns) { have.NFT = []nft.Table{nftTable("nat")} }, true},
	} {
		have, want := pair(), pair()
		want.Netns[0].UDP, want.Netns[0].Cut = []conntrack.UDPService{{NodePort: 30053}}, []conntrack.Cut{{}}
		row.edit(&have.Netns[0], &want.Netns[0])
		c := Diff(have, want)
		if len(c.Edit) != 1 || len(c.Edit[0].Cut) != 1 || (len(c.Edit[0].UDP) == 1) != row.udp {
			t.Errorf("%s: got %+v", row.name, c.Edit)
		}
	}
}

func nftTable(kind string) nft.Table {
	return nft.Table{Family: "inet", Name: "t", Chains: []nft.Chain{{Name: "c", Type: kind, Hook: "prerouting", Policy: "accept"}}}
}
