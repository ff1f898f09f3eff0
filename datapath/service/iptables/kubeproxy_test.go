package iptables

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// The fixtures below say what kube-proxy 1.35 programs for the objects of its own
// tests (TestOverallIPTablesRules and others in pkg/proxy/iptables/proxier_test.go):
// chain by chain, each rule without "-A CHAIN". A trailing "…" of a chain name in a
// rule stands for the hash of the chain that the rule is in.

// testNode is what those tests run on: test-hostname, pods in 10.0.0.0/8.
func testNode(edit func(*topology.Lab), list ...*topology.Service) service.View {
	node := &topology.Node{Name: "test-hostname", Addrs: []netip.Addr{netip.MustParseAddr("192.168.0.2")}}
	lab := &topology.Lab{Nodes: []*topology.Node{node}, Services: list,
		Network: topology.Network{PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		Proxy:   topology.Proxy{LocalNodePorts: true}}
	if edit != nil {
		edit(lab)
	}
	return service.NewView(lab, node, []netip.Addr{netip.MustParseAddr("127.0.0.1"), node.Addrs[0]})
}

// port80 is a service with a TCP port 80 named p80 and endpoints on port 80. Those
// after a colon in an address are on the node.
func port80(namespace, name, clusterIP string, edit func(*topology.Service), endpoints ...string) *topology.Service {
	p := &topology.ServicePort{Name: "p80", Protocol: topology.TCP, Port: 80}
	for _, e := range endpoints {
		a, local := strings.CutSuffix(e, "@here")
		ep := &topology.Endpoint{Addr: netip.AddrPortFrom(netip.MustParseAddr(a), 80), Ready: true, Serving: true}
		if local {
			ep.Node = "test-hostname"
		}
		p.Endpoints = append(p.Endpoints, ep)
	}
	svc := &topology.Service{Name: name, Namespace: namespace, Type: topology.ClusterIP,
		ClusterIPs: []netip.Addr{netip.MustParseAddr(clusterIP)}, Ports: []*topology.ServicePort{p}}
	if edit != nil {
		edit(svc)
	}
	return svc
}

func vip(a string) []topology.LoadBalancerIP {
	return []topology.LoadBalancerIP{{Addr: netip.MustParseAddr(a)}}
}

// overall are six services, one of each kind.
func overall() []*topology.Service {
	return []*topology.Service{
		port80("ns1", "svc1", "172.30.0.41", nil, "10.180.0.1"),
		port80("ns2", "svc2", "172.30.0.42", func(s *topology.Service) {
			s.Type, s.ExternalTrafficPolicy, s.HealthCheckNodePort = topology.LoadBalancer, topology.PolicyLocal, 30000
			s.Ports[0].NodePort, s.ExternalIPs, s.LoadBalancers = 3001, []netip.Addr{netip.MustParseAddr("192.168.99.22")}, vip("1.2.3.4")
		}, "10.180.0.2"),
		port80("ns3", "svc3", "172.30.0.43", func(s *topology.Service) { s.Type, s.Ports[0].NodePort = topology.NodePort, 3003 }, "10.180.0.3"),
		port80("ns4", "svc4", "172.30.0.44", func(s *topology.Service) { s.ExternalIPs = []netip.Addr{netip.MustParseAddr("192.168.99.33")} },
			"10.180.0.4", "10.180.0.5@here"),
		port80("ns5", "svc5", "172.30.0.45", func(s *topology.Service) {
			s.Type, s.Ports[0].NodePort, s.HealthCheckNodePort = topology.LoadBalancer, 3002, 30000
			s.LoadBalancers, s.SourceRanges = vip("5.6.7.8"), []netip.Prefix{netip.MustParsePrefix("203.0.113.0/25")}
		}, "10.180.0.3"),
		port80("ns6", "svc6", "172.30.0.46", nil),
	}
}

const overallFilter = `
KUBE-SERVICES
  -m comment --comment "ns6/svc6:p80 has no endpoints" -m tcp -p tcp -d 172.30.0.46 --dport 80 -j REJECT
KUBE-EXTERNAL-SERVICES
  -m comment --comment "ns2/svc2:p80 has no local endpoints" -m tcp -p tcp -d 192.168.99.22 --dport 80 -j DROP
  -m comment --comment "ns2/svc2:p80 has no local endpoints" -m tcp -p tcp -d 1.2.3.4 --dport 80 -j DROP
  -m comment --comment "ns2/svc2:p80 has no local endpoints" -m addrtype --dst-type LOCAL -m tcp -p tcp --dport 3001 -j DROP
KUBE-FIREWALL
  -m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
KUBE-FORWARD
  -m conntrack --ctstate INVALID -j DROP
  -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
  -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
KUBE-NODEPORTS
  -m comment --comment "ns2/svc2:p80 health check node port" -m tcp -p tcp --dport 30000 -j ACCEPT
KUBE-PROXY-FIREWALL
  -m comment --comment "ns5/svc5:p80 traffic not accepted by KUBE-FW-NUKIZ6OKUXPJNT4C" -m tcp -p tcp -d 5.6.7.8 --dport 80 -j DROP
`

const overallNAT = `
KUBE-SERVICES
  -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-SVC-XPGD46QRK7WJZT7O
  -m comment --comment "ns2/svc2:p80 cluster IP" -m tcp -p tcp -d 172.30.0.42 --dport 80 -j KUBE-SVC-GNZBNJ2PO5MGZ6GT
  -m comment --comment "ns2/svc2:p80 external IP" -m tcp -p tcp -d 192.168.99.22 --dport 80 -j KUBE-EXT-GNZBNJ2PO5MGZ6GT
  -m comment --comment "ns2/svc2:p80 loadbalancer IP" -m tcp -p tcp -d 1.2.3.4 --dport 80 -j KUBE-EXT-GNZBNJ2PO5MGZ6GT
  -m comment --comment "ns3/svc3:p80 cluster IP" -m tcp -p tcp -d 172.30.0.43 --dport 80 -j KUBE-SVC-X27LE4BHSL4DOUIK
  -m comment --comment "ns4/svc4:p80 cluster IP" -m tcp -p tcp -d 172.30.0.44 --dport 80 -j KUBE-SVC-4SW47YFZTEDKD3PK
  -m comment --comment "ns4/svc4:p80 external IP" -m tcp -p tcp -d 192.168.99.33 --dport 80 -j KUBE-EXT-4SW47YFZTEDKD3PK
  -m comment --comment "ns5/svc5:p80 cluster IP" -m tcp -p tcp -d 172.30.0.45 --dport 80 -j KUBE-SVC-NUKIZ6OKUXPJNT4C
  -m comment --comment "ns5/svc5:p80 loadbalancer IP" -m tcp -p tcp -d 5.6.7.8 --dport 80 -j KUBE-FW-NUKIZ6OKUXPJNT4C
  -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
KUBE-NODEPORTS
  -m comment --comment ns2/svc2:p80 -m tcp -p tcp --dport 3001 -j KUBE-EXT-GNZBNJ2PO5MGZ6GT
  -m comment --comment ns3/svc3:p80 -m tcp -p tcp --dport 3003 -j KUBE-EXT-X27LE4BHSL4DOUIK
  -m comment --comment ns5/svc5:p80 -m tcp -p tcp --dport 3002 -j KUBE-EXT-NUKIZ6OKUXPJNT4C
KUBE-MARK-MASQ
  -j MARK --or-mark 0x4000
KUBE-POSTROUTING
  -m mark ! --mark 0x4000/0x4000 -j RETURN
  -j MARK --xor-mark 0x4000
  -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
KUBE-EXT-GNZBNJ2PO5MGZ6GT
  -m comment --comment "pod traffic for ns2/svc2:p80 external destinations" -s 10.0.0.0/8 -j KUBE-SVC-…
  -m comment --comment "masquerade LOCAL traffic for ns2/svc2:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ
  -m comment --comment "route LOCAL traffic for ns2/svc2:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-SVC-…
KUBE-EXT-X27LE4BHSL4DOUIK
  -m comment --comment "masquerade traffic for ns3/svc3:p80 external destinations" -j KUBE-MARK-MASQ
  -j KUBE-SVC-…
KUBE-EXT-4SW47YFZTEDKD3PK
  -m comment --comment "masquerade traffic for ns4/svc4:p80 external destinations" -j KUBE-MARK-MASQ
  -j KUBE-SVC-…
KUBE-EXT-NUKIZ6OKUXPJNT4C
  -m comment --comment "masquerade traffic for ns5/svc5:p80 external destinations" -j KUBE-MARK-MASQ
  -j KUBE-SVC-…
KUBE-FW-NUKIZ6OKUXPJNT4C
  -m comment --comment "ns5/svc5:p80 loadbalancer IP" -s 203.0.113.0/25 -j KUBE-EXT-…
  -m comment --comment "other traffic to ns5/svc5:p80 will be dropped by KUBE-PROXY-FIREWALL"
KUBE-SVC-XPGD46QRK7WJZT7O
  -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.1:80" -j KUBE-SEP-SXIVWICOYRO3J4NJ
KUBE-SVC-GNZBNJ2PO5MGZ6GT
  -m comment --comment "ns2/svc2:p80 cluster IP" -m tcp -p tcp -d 172.30.0.42 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns2/svc2:p80 -> 10.180.0.2:80" -j KUBE-SEP-RS4RBKLTHTF2IUXJ
KUBE-SVC-X27LE4BHSL4DOUIK
  -m comment --comment "ns3/svc3:p80 cluster IP" -m tcp -p tcp -d 172.30.0.43 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns3/svc3:p80 -> 10.180.0.3:80" -j KUBE-SEP-OYPFS5VJICHGATKP
KUBE-SVC-4SW47YFZTEDKD3PK
  -m comment --comment "ns4/svc4:p80 cluster IP" -m tcp -p tcp -d 172.30.0.44 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns4/svc4:p80 -> 10.180.0.4:80" -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-UKSFD7AGPMPPLUHC
  -m comment --comment "ns4/svc4:p80 -> 10.180.0.5:80" -j KUBE-SEP-C6EBXVWJJZMIWKLZ
KUBE-SVC-NUKIZ6OKUXPJNT4C
  -m comment --comment "ns5/svc5:p80 cluster IP" -m tcp -p tcp -d 172.30.0.45 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns5/svc5:p80 -> 10.180.0.3:80" -j KUBE-SEP-I77PXRDZVX7PMWMN
KUBE-SEP-SXIVWICOYRO3J4NJ
  -m comment --comment ns1/svc1:p80 -s 10.180.0.1 -j KUBE-MARK-MASQ
  -m comment --comment ns1/svc1:p80 -m tcp -p tcp -j DNAT --to-destination 10.180.0.1:80
KUBE-SEP-RS4RBKLTHTF2IUXJ
  -m comment --comment ns2/svc2:p80 -s 10.180.0.2 -j KUBE-MARK-MASQ
  -m comment --comment ns2/svc2:p80 -m tcp -p tcp -j DNAT --to-destination 10.180.0.2:80
KUBE-SEP-OYPFS5VJICHGATKP
  -m comment --comment ns3/svc3:p80 -s 10.180.0.3 -j KUBE-MARK-MASQ
  -m comment --comment ns3/svc3:p80 -m tcp -p tcp -j DNAT --to-destination 10.180.0.3:80
KUBE-SEP-UKSFD7AGPMPPLUHC
  -m comment --comment ns4/svc4:p80 -s 10.180.0.4 -j KUBE-MARK-MASQ
  -m comment --comment ns4/svc4:p80 -m tcp -p tcp -j DNAT --to-destination 10.180.0.4:80
KUBE-SEP-C6EBXVWJJZMIWKLZ
  -m comment --comment ns4/svc4:p80 -s 10.180.0.5 -j KUBE-MARK-MASQ
  -m comment --comment ns4/svc4:p80 -m tcp -p tcp -j DNAT --to-destination 10.180.0.5:80
KUBE-SEP-I77PXRDZVX7PMWMN
  -m comment --comment ns5/svc5:p80 -s 10.180.0.3 -j KUBE-MARK-MASQ
  -m comment --comment ns5/svc5:p80 -m tcp -p tcp -j DNAT --to-destination 10.180.0.3:80
`

// Those tests run as on a kernel without accounting objects.
func TestRulesAreThoseOfKubeProxy(t *testing.T) {
	n := compile(testNode(nil, overall()...))
	n.Tables = iptables.Uncounted(n.Tables)
	for table, fixture := range map[string]string{"filter": overallFilter, "nat": overallNAT} {
		want := chainsOf(fixture)
		got := rendered(n, table, false)
		for name, rules := range want {
			if d := cmp.Diff(rules, got[name]); d != "" {
				t.Errorf("%s %s: -want +got:\n%s", table, name, d)
			}
			delete(got, name)
		}
		for name, rules := range got {
			if name != canary && strings.HasPrefix(name, "KUBE-") && len(rules) > 0 {
				t.Errorf("%s %s: not expected:\n%s", table, name, strings.Join(rules, "\n"))
			}
		}
	}
}

// What kube-proxy counts where the kernel has accounting objects (syncProxyRules in
// pkg/proxy/iptables/proxier.go): invalid packets, and connections to loopback node ports.
func TestRulesCountAsThoseOfKubeProxy(t *testing.T) {
	n := compile(testNode(nil, overall()...))
	const invalid = "-m conntrack --ctstate INVALID"
	if got, want := rendered(n, "filter", false)["KUBE-FORWARD"][0], invalid+" -m nfacct --nfacct-name ct_state_invalid_dropped_pkts -j DROP"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	const before, port = `-m comment --comment ns2/svc2:p80 -m tcp -p tcp`, " --dport 3001"
	want := []string{
		before + port + " -d 127.0.0.0/8 -m nfacct --nfacct-name localhost_nps_accepted_pkts -j KUBE-EXT-GNZBNJ2PO5MGZ6GT",
		before + port + " -j KUBE-EXT-GNZBNJ2PO5MGZ6GT",
	}
	if got := rendered(n, "nat", false)["KUBE-NODEPORTS"]; !slices.Equal(got[:2], want) {
		t.Errorf("got  %q\nwant %q", got[:2], want)
	}
	n.Tables = iptables.Uncounted(n.Tables)
	if got := rendered(n, "nat", false)["KUBE-NODEPORTS"][0]; got != want[1] || iptables.Counts(n.Tables) {
		t.Errorf("without accounting objects: %s", got)
	}
}

// chainsOf reads a fixture: chain names at the left edge, rules indented below.
func chainsOf(fixture string) map[string][]string {
	chains, name := map[string][]string{}, ""
	for line := range strings.Lines(fixture) {
		rule, indented := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  ")
		switch {
		case indented:
			chains[name] = append(chains[name], strings.ReplaceAll(rule, "…", hashOf(name)))
		case rule != "":
			name = rule
			chains[name] = nil
		}
	}
	return chains
}

func hashOf(chain string) string { return chain[strings.LastIndexByte(chain, '-')+1:] }

// rendered returns the rules of each chain as input for iptables-restore.
func rendered(n plan.Netns, table string, ipv6 bool) map[string][]string {
	chains := map[string][]string{}
	for _, t := range n.Tables {
		if t.Name != table || t.IPv6 != ipv6 {
			continue
		}
		for _, c := range t.Chains {
			chains[c.Name] = nil
			for i := range c.Rules {
				chains[c.Name] = append(chains[c.Name], strings.TrimPrefix(c.Rules[i].Restore(c.Name), "-A "+c.Name+" "))
			}
		}
	}
	return chains
}
