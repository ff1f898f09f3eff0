package iptables

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// Single features, in fixtures as those of kubeproxy_test.go. Only the chains that
// are named are compared.
func TestFeatures(t *testing.T) {
	three := []string{"10.180.0.1@here", "10.180.0.2", "10.180.0.3"}
	balanced := func(s *topology.Service) {
		s.Type, s.LoadBalancers = topology.LoadBalancer, vip("1.2.3.4")
	}
	for _, row := range []struct {
		name string
		lab  func(*topology.Lab)
		svc  *topology.Service
		want string // "filter" before a chain's name: of that table
	}{{
		name: "session affinity matches before it picks, and records what was picked",
		svc:  port80("ns1", "svc1", "172.30.0.41", func(s *topology.Service) { s.AffinitySeconds = 10800 }, three[:2]...),
		want: `
KUBE-SVC-XPGD46QRK7WJZT7O
  -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.1:80" -m recent --name KUBE-SEP-SXIVWICOYRO3J4NJ --rcheck --seconds 10800 --reap -j KUBE-SEP-SXIVWICOYRO3J4NJ
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.2:80" -m recent --name KUBE-SEP-LXVODXWDISEETFEF --rcheck --seconds 10800 --reap -j KUBE-SEP-LXVODXWDISEETFEF
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.1:80" -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-SXIVWICOYRO3J4NJ
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.2:80" -j KUBE-SEP-LXVODXWDISEETFEF
KUBE-SEP-SXIVWICOYRO3J4NJ
  -m comment --comment ns1/svc1:p80 -s 10.180.0.1 -j KUBE-MARK-MASQ
  -m comment --comment ns1/svc1:p80 -m recent --name KUBE-SEP-SXIVWICOYRO3J4NJ --set -m tcp -p tcp -j DNAT --to-destination 10.180.0.1:80
`,
	}, {
		name: "policy Local with a local endpoint",
		svc: port80("ns1", "svc1", "172.30.0.41", func(s *topology.Service) {
			s.Type, s.Ports[0].NodePort, s.ExternalTrafficPolicy = topology.NodePort, 3001, topology.PolicyLocal
		}, three...),
		want: `
KUBE-EXT-XPGD46QRK7WJZT7O
  -m comment --comment "pod traffic for ns1/svc1:p80 external destinations" -s 10.0.0.0/8 -j KUBE-SVC-…
  -m comment --comment "masquerade LOCAL traffic for ns1/svc1:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ
  -m comment --comment "route LOCAL traffic for ns1/svc1:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-SVC-…
  -j KUBE-SVL-…
KUBE-SVL-XPGD46QRK7WJZT7O
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.1:80" -j KUBE-SEP-SXIVWICOYRO3J4NJ
KUBE-SVC-XPGD46QRK7WJZT7O
  -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.1:80" -m statistic --mode random --probability 0.3333333333 -j KUBE-SEP-SXIVWICOYRO3J4NJ
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.2:80" -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-LXVODXWDISEETFEF
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.3:80" -j KUBE-SEP-ICDUIKC33SFI6ZPR
filter KUBE-EXTERNAL-SERVICES
`,
	}, {
		name: "internal policy Local without local endpoints",
		svc:  port80("ns1", "svc1", "172.30.0.41", func(s *topology.Service) { s.InternalTrafficPolicy = topology.PolicyLocal }, "10.180.0.2"),
		want: `
KUBE-SVC-XPGD46QRK7WJZT7O
KUBE-SVL-XPGD46QRK7WJZT7O
filter KUBE-SERVICES
  -m comment --comment "ns1/svc1:p80 has no local endpoints" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j DROP
`,
	}, {
		name: "no endpoints: all addresses reject, the firewall is not needed",
		svc: port80("ns1", "svc1", "172.30.0.41", func(s *topology.Service) {
			balanced(s)
			s.Ports[0].NodePort, s.ExternalIPs = 3001, []netip.Addr{netip.MustParseAddr("192.168.99.11")}
			s.SourceRanges = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/25")}
		}),
		want: `
KUBE-EXT-XPGD46QRK7WJZT7O
KUBE-FW-XPGD46QRK7WJZT7O
filter KUBE-PROXY-FIREWALL
filter KUBE-SERVICES
  -m comment --comment "ns1/svc1:p80 has no endpoints" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j REJECT
filter KUBE-EXTERNAL-SERVICES
  -m comment --comment "ns1/svc1:p80 has no endpoints" -m tcp -p tcp -d 192.168.99.11 --dport 80 -j REJECT
  -m comment --comment "ns1/svc1:p80 has no endpoints" -m tcp -p tcp -d 1.2.3.4 --dport 80 -j REJECT
  -m comment --comment "ns1/svc1:p80 has no endpoints" -m addrtype --dst-type LOCAL -m tcp -p tcp --dport 3001 -j REJECT
`,
	}, {
		name: "a node inside the source ranges may use its own load balancer addresses",
		svc: port80("ns1", "svc1", "172.30.0.41", func(s *topology.Service) {
			balanced(s)
			s.LoadBalancers = append(s.LoadBalancers, vip("1.2.3.5")...)
			s.SourceRanges = []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24"), netip.MustParsePrefix("203.0.113.0/25")}
		}, three[0]),
		want: `
KUBE-FW-XPGD46QRK7WJZT7O
  -m comment --comment "ns1/svc1:p80 loadbalancer IP" -s 192.168.0.0/24 -j KUBE-EXT-…
  -m comment --comment "ns1/svc1:p80 loadbalancer IP" -s 203.0.113.0/25 -j KUBE-EXT-…
  -m comment --comment "ns1/svc1:p80 loadbalancer IP" -s 1.2.3.4 -j KUBE-EXT-…
  -m comment --comment "ns1/svc1:p80 loadbalancer IP" -s 1.2.3.5 -j KUBE-EXT-…
  -m comment --comment "other traffic to ns1/svc1:p80 will be dropped by KUBE-PROXY-FIREWALL"
filter KUBE-PROXY-FIREWALL
  -m comment --comment "ns1/svc1:p80 traffic not accepted by KUBE-FW-XPGD46QRK7WJZT7O" -m tcp -p tcp -d 1.2.3.4 --dport 80 -j DROP
  -m comment --comment "ns1/svc1:p80 traffic not accepted by KUBE-FW-XPGD46QRK7WJZT7O" -m tcp -p tcp -d 1.2.3.5 --dport 80 -j DROP
`,
	}, {
		name: "a proxying load balancer has no rules",
		svc:  port80("ns1", "svc1", "172.30.0.41", func(s *topology.Service) { balanced(s); s.LoadBalancers[0].Proxy = true }, three[0]),
		want: `
KUBE-SERVICES
  -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-SVC-XPGD46QRK7WJZT7O
  -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
KUBE-EXT-XPGD46QRK7WJZT7O
`,
	}, {
		name: "masquerade all",
		lab:  func(l *topology.Lab) { l.Proxy.MasqueradeAll = true },
		svc:  port80("ns1", "svc1", "172.30.0.41", nil, three[0]),
		want: `
KUBE-SVC-XPGD46QRK7WJZT7O
  -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-MARK-MASQ
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.1:80" -j KUBE-SEP-SXIVWICOYRO3J4NJ
`,
	}, {
		name: "local traffic is not detected",
		lab:  func(l *topology.Lab) { l.Proxy.DetectLocal = "none" },
		svc: port80("ns1", "svc1", "172.30.0.41", func(s *topology.Service) {
			s.Type, s.Ports[0].NodePort, s.ExternalTrafficPolicy = topology.NodePort, 3001, topology.PolicyLocal
		}, three[0]),
		want: `
KUBE-SVC-XPGD46QRK7WJZT7O
  -m comment --comment "ns1/svc1:p80 -> 10.180.0.1:80" -j KUBE-SEP-SXIVWICOYRO3J4NJ
KUBE-EXT-XPGD46QRK7WJZT7O
  -m comment --comment "masquerade LOCAL traffic for ns1/svc1:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ
  -m comment --comment "route LOCAL traffic for ns1/svc1:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-SVC-…
  -j KUBE-SVL-…
`,
	}, {
		name: "SCTP",
		svc:  port80("ns1", "svc1", "172.30.0.41", func(s *topology.Service) { s.Ports[0].Protocol = topology.SCTP }, three[0]),
		want: `
KUBE-SERVICES
  -m comment --comment "ns1/svc1:p80 cluster IP" -m sctp -p sctp -d 172.30.0.41 --dport 80 -j ` + namesOf("ns1/svc1:p80", "sctp").svc + `
  -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
` + endpointChain("ns1/svc1:p80", "sctp", "10.180.0.1:80") + `
  -m comment --comment ns1/svc1:p80 -s 10.180.0.1 -j KUBE-MARK-MASQ
  -m comment --comment ns1/svc1:p80 -m sctp -p sctp -j DNAT --to-destination 10.180.0.1:80
`,
	}} {
		t.Run(row.name, func(t *testing.T) { compareChains(t, compiled(t, testNode(row.lab, row.svc)), row.want) })
	}
}

func compiled(t *testing.T, v service.View) plan.Netns {
	t.Helper()
	n := compile(v)
	return n
}

// compareChains compares the chains of a fixture, those of nat unless it says
// otherwise. One without rules in the fixture is not there, or has none.
func compareChains(t *testing.T, n plan.Netns, fixture string) {
	t.Helper()
	for name, rules := range chainsOf(fixture) {
		table, chain, other := strings.Cut(name, " ")
		if !other {
			table, chain = "nat", name
		}
		if d := cmp.Diff(rules, rendered(n, table, false)[chain]); d != "" {
			t.Errorf("%s %s: -want +got:\n%s", table, chain, d)
		}
	}
}

func TestManyEndpointsHaveNoComments(t *testing.T) {
	for _, row := range []struct {
		endpoints int
		want      string
	}{
		{1000, `-m comment --comment "ns1/svc1:p80 -> `},
		{1001, "-m statistic --mode random --probability "},
	} {
		var list []string
		for i := range row.endpoints {
			list = append(list, fmt.Sprintf("10.180.%d.%d", i/250, i%250+1))
		}
		n := compiled(t, testNode(nil, port80("ns1", "svc1", "172.30.0.41", nil, list...)))
		rules := rendered(n, "nat", false)["KUBE-SVC-XPGD46QRK7WJZT7O"]
		if !strings.HasPrefix(rules[1], row.want) {
			t.Errorf("%d endpoints: %s", row.endpoints, rules[1])
		}
		if !strings.HasPrefix(rules[0], "-m comment") {
			t.Errorf("%d endpoints: other rules keep their comments: %s", row.endpoints, rules[0])
		}
		sep := rendered(n, "nat", false)["KUBE-SEP-SXIVWICOYRO3J4NJ"]
		if strings.Contains(sep[0], "comment") != (row.endpoints == 1000) {
			t.Errorf("%d endpoints: %s", row.endpoints, sep[0])
		}
	}
}

func TestEachFamilyHasItsOwnRules(t *testing.T) {
	svc := port80("ns1", "svc1", "172.30.0.41", func(s *topology.Service) {
		s.ClusterIPs = append(s.ClusterIPs, netip.MustParseAddr("fd00:30::41"))
		s.AffinitySeconds = 5
	}, "10.180.0.1", "fd00:180::1")
	n := compiled(t, testNode(func(l *topology.Lab) {
		l.Network.PodCIDRs = append(l.Network.PodCIDRs, netip.MustParsePrefix("fd00:10::/32"))
	}, svc))
	sep := endpointChain("ns1/svc1:p80", topology.TCP, "[fd00:180::1]:80")
	want := []string{"-m comment --comment ns1/svc1:p80 -s fd00:180::1 -j KUBE-MARK-MASQ",
		"-m comment --comment ns1/svc1:p80 -m recent --name " + sep + " --set -m tcp -p tcp -j DNAT --to-destination [fd00:180::1]:80"}
	if d := cmp.Diff(want, rendered(n, "nat", true)[sep]); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if rules := rendered(n, "nat", false); rules[sep] != nil || rules["KUBE-SEP-SXIVWICOYRO3J4NJ"] == nil {
		t.Error("the IPv4 rules are not those of IPv4 endpoints")
	}
	if rules := rendered(n, "filter", true)[firewall]; len(rules) != 0 {
		t.Errorf("IPv6 has no martian rule: %q", rules)
	}
}
