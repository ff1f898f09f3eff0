package ipvs

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netlab/netlab/datapath/plan"
	planned "github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// compiled gives the services of a lab to the node test-hostname, 192.168.0.2, with a
// bridge 10.0.1.1.
func compiled(t *testing.T, edit func(*topology.Lab), list ...*topology.Service) plan.Netns {
	t.Helper()
	node := &topology.Node{Name: "test-hostname", Addrs: []netip.Addr{netip.MustParseAddr("192.168.0.2")}}
	lab := &topology.Lab{Nodes: []*topology.Node{node}, Services: list,
		Network: topology.Network{PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		Proxy:   topology.Proxy{LocalNodePorts: true, IPVS: topology.IPVS{Scheduler: "rr", Addresses: topology.AddressesDummy}}}
	if edit != nil {
		edit(lab)
	}
	return compile(service.NewView(lab, node, []netip.Addr{netip.MustParseAddr("127.0.0.1"), node.Addrs[0], netip.MustParseAddr("10.0.1.1")}))
}

// port80 is a service with a TCP port 80 and endpoints on port 80; those that end in
// @here are on the node.
func port80(name, clusterIP string, edit func(*topology.Service), endpoints ...string) *topology.Service {
	p := &topology.ServicePort{Name: "p80", Protocol: topology.TCP, Port: 80}
	for _, e := range endpoints {
		a, local := strings.CutSuffix(e, "@here")
		ep := &topology.Endpoint{Addr: netip.AddrPortFrom(netip.MustParseAddr(a), 80), Ready: true, Serving: true, Weight: 1}
		if local {
			ep.Node = "test-hostname"
		}
		p.Endpoints = append(p.Endpoints, ep)
	}
	svc := &topology.Service{Name: name, Namespace: "ns", Type: topology.ClusterIP,
		ClusterIPs: []netip.Addr{netip.MustParseAddr(clusterIP)}, Ports: []*topology.ServicePort{p}}
	if edit != nil {
		edit(svc)
	}
	return svc
}

func addrs(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

func external(policy topology.TrafficPolicy, nodePort uint16, externalIP, vip string, ranges ...string) func(*topology.Service) {
	return func(s *topology.Service) {
		s.Type, s.ExternalTrafficPolicy, s.Ports[0].NodePort = topology.LoadBalancer, policy, nodePort
		s.ExternalIPs = addrs(externalIP)
		s.LoadBalancers = []topology.LoadBalancerIP{{Addr: netip.MustParseAddr(vip)}}
		s.HealthCheckNodePort = 30000
		for _, r := range ranges {
			s.SourceRanges = append(s.SourceRanges, netip.MustParsePrefix(r))
		}
	}
}

func everything() []*topology.Service {
	return []*topology.Service{
		port80("cluster", "172.30.0.1", external(topology.PolicyCluster, 3001, "192.168.99.1", "1.2.3.1"), "10.180.0.1", "10.0.1.7@here"),
		port80("local", "172.30.0.2", external(topology.PolicyLocal, 3002, "192.168.99.2", "1.2.3.2", "203.0.113.0/25"), "10.180.0.2"),
		port80("none", "172.30.0.3", nil),
	}
}

// The rules are kube-proxy's (writeIptablesRules and createAndLinkKubeChain in
// pkg/proxy/ipvs/proxier.go), chain by chain, each without "-A CHAIN".
func TestRulesAreKubeProxys(t *testing.T) {
	const nat = `
PREROUTING
  -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
OUTPUT
  -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
POSTROUTING
  -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
KUBE-LOAD-BALANCER
  -m comment --comment "Kubernetes service load balancer ip + port with externalTrafficPolicy=local" -m set --match-set KUBE-LOAD-BALANCER-LOCAL dst,dst -j RETURN
  -j KUBE-MARK-MASQ
KUBE-MARK-MASQ
  -j MARK --or-mark 0x4000
KUBE-NODE-PORT
  -p tcp -m comment --comment "Kubernetes nodeport TCP port with externalTrafficPolicy=local" -m set --match-set KUBE-NODE-PORT-LOCAL-TCP dst -j RETURN
  -p tcp -m comment --comment "Kubernetes nodeport TCP port for masquerade purpose" -m set --match-set KUBE-NODE-PORT-TCP dst -j KUBE-MARK-MASQ
KUBE-POSTROUTING
  -m comment --comment "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose" -m set --match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE
  -m mark ! --mark 0x4000/0x4000 -j RETURN
  -j MARK --xor-mark 0x4000
  -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
KUBE-SERVICES
  -s 127.0.0.0/8 -j RETURN
  -m comment --comment "Kubernetes service lb portal" -m set --match-set KUBE-LOAD-BALANCER dst,dst -j KUBE-LOAD-BALANCER
  -m comment --comment "Kubernetes service cluster ip + port for masquerade purpose" -m set --match-set KUBE-CLUSTER-IP dst,dst ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "Kubernetes service external ip + port for masquerade and filter purpose" -m set --match-set KUBE-EXTERNAL-IP dst,dst -j KUBE-MARK-MASQ
  -m comment --comment "Kubernetes service external ip + port for masquerade and filter purpose" -m set --match-set KUBE-EXTERNAL-IP dst,dst -m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT
  -m comment --comment "Kubernetes service external ip + port for masquerade and filter purpose" -m set --match-set KUBE-EXTERNAL-IP dst,dst -m addrtype --dst-type LOCAL -j ACCEPT
  -m comment --comment "Kubernetes service external ip + port with externalTrafficPolicy=local" -m set --match-set KUBE-EXTERNAL-IP-LOCAL dst,dst -m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT
  -m comment --comment "Kubernetes service external ip + port with externalTrafficPolicy=local" -m set --match-set KUBE-EXTERNAL-IP-LOCAL dst,dst -m addrtype --dst-type LOCAL -j ACCEPT
  -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT
  -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT
  -m set --match-set KUBE-LOAD-BALANCER dst,dst -j ACCEPT
`
	const filter = `
INPUT
  -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER
  -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
  -m comment --comment "kubernetes health check rules" -j KUBE-NODE-PORT
FORWARD
  -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
  -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
OUTPUT
  -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-OUT-FILTER
KUBE-FORWARD
  -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
  -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
KUBE-IPVS-FILTER
  -m set --match-set KUBE-LOAD-BALANCER dst,dst -j RETURN
  -m set --match-set KUBE-CLUSTER-IP dst,dst -j RETURN
  -m set --match-set KUBE-EXTERNAL-IP dst,dst -j RETURN
  -m set --match-set KUBE-EXTERNAL-IP-LOCAL dst,dst -j RETURN
  -m set --match-set KUBE-HEALTH-CHECK-NODE-PORT dst -j RETURN
  -m conntrack --ctstate NEW -m set --match-set KUBE-IPVS-IPS dst -j REJECT
KUBE-IPVS-OUT-FILTER
  -s 1.2.3.2 -m ipvs --vproto tcp --vaddr 1.2.3.2 --vport 80 -j DROP
KUBE-NODE-PORT
  -m comment --comment "Kubernetes health check node port" -m set --match-set KUBE-HEALTH-CHECK-NODE-PORT dst -j ACCEPT
KUBE-PROXY-FIREWALL
  -m comment --comment "Kubernetes service load balancer ip + port for load balancer with sourceRange" -m set --match-set KUBE-LOAD-BALANCER-FW dst,dst -j KUBE-SOURCE-RANGES-FIREWALL
KUBE-SOURCE-RANGES-FIREWALL
  -m comment --comment "Kubernetes service load balancer ip + port + source cidr for packet filter purpose" -m set --match-set KUBE-LOAD-BALANCER-SOURCE-CIDR dst,dst,src -j RETURN
  -j DROP
`
	out := compiled(t, nil, everything()...)
	p := plan.Plan{Netns: []plan.Netns{out}}
	p.Sort()
	for name, want := range map[string]string{"nat": nat, "filter": filter} {
		if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(chains(&p.Netns[0], name))); diff != "" {
			t.Errorf("table %s (-want +got):\n%s", name, diff)
		}
	}
}

func chains(n *plan.Netns, table string) string {
	var b strings.Builder
	for _, t := range n.Tables {
		if t.Name != table {
			continue
		}
		for _, c := range t.Chains {
			fmt.Fprintln(&b, c.Name)
			for _, r := range c.Rules {
				fmt.Fprintln(&b, strings.Replace(r.Restore(c.Name), "-A "+c.Name, " ", 1))
			}
		}
	}
	return b.String()
}

// servers are the virtual servers with their real ones, a line each.
func servers(n plan.Netns) string {
	var b strings.Builder
	for _, s := range n.Virtual {
		fmt.Fprintf(&b, "%s %s %s", s.Proto, s.Addr, s.Scheduler)
		for _, f := range s.Flags {
			fmt.Fprintf(&b, " %s", f)
		}
		if s.Persistent != 0 {
			fmt.Fprintf(&b, " persistent %d", s.Persistent)
		}
		for _, r := range s.Real {
			fmt.Fprintf(&b, " %s", r.Addr)
			if r.Weight != 1 {
				fmt.Fprintf(&b, "=%d", r.Weight)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestVirtualServers(t *testing.T) {
	here := "10.0.1.7@here"
	for _, row := range []struct {
		name string
		lab  func(*topology.Lab)
		svc  *topology.Service
		want string
	}{{
		name: "one per address, and per node address for the node port",
		svc:  port80("a", "172.30.0.1", external(topology.PolicyCluster, 3001, "192.168.99.1", "1.2.3.1"), "10.180.0.1"),
		want: `
tcp 172.30.0.1:80 rr 10.180.0.1:80
tcp 192.168.99.1:80 rr 10.180.0.1:80
tcp 1.2.3.1:80 rr 10.180.0.1:80
tcp 10.0.1.1:3001 rr 10.180.0.1:80
tcp 192.168.0.2:3001 rr 10.180.0.1:80
`,
	}, {
		name: "node_port_addresses",
		lab: func(l *topology.Lab) {
			l.Proxy.NodePortAddresses = []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24"), netip.MustParsePrefix("127.0.0.0/8")}
		},
		svc: port80("a", "172.30.0.1", func(s *topology.Service) { s.Ports[0].NodePort = 3001 }, "10.180.0.1"),
		want: `
tcp 172.30.0.1:80 rr 10.180.0.1:80
tcp 192.168.0.2:3001 rr 10.180.0.1:80
`,
	}, {
		name: "external policy Local",
		svc: port80("a", "172.30.0.1", func(s *topology.Service) {
			s.ExternalTrafficPolicy, s.ExternalIPs = topology.PolicyLocal, addrs("192.168.99.1")
		}, "10.180.0.1", here),
		want: `
tcp 172.30.0.1:80 rr 10.0.1.7:80 10.180.0.1:80
tcp 192.168.99.1:80 rr 10.0.1.7:80
`,
	}, {
		name: "external policy Local, none here: all",
		svc: port80("a", "172.30.0.1", func(s *topology.Service) {
			s.ExternalTrafficPolicy, s.ExternalIPs = topology.PolicyLocal, addrs("192.168.99.1")
		}, "10.180.0.1"),
		want: `
tcp 172.30.0.1:80 rr 10.180.0.1:80
tcp 192.168.99.1:80 rr 10.180.0.1:80
`,
	}, {
		name: "internal policy Local, none here: no real server",
		svc:  port80("a", "172.30.0.1", func(s *topology.Service) { s.InternalTrafficPolicy = topology.PolicyLocal }, "10.180.0.1"),
		want: "tcp 172.30.0.1:80 rr\n",
	}, {
		name: "internal policy Local, none here, but an external address: all",
		svc: port80("a", "172.30.0.1", func(s *topology.Service) {
			s.InternalTrafficPolicy, s.ExternalIPs = topology.PolicyLocal, addrs("192.168.99.1")
		}, "10.180.0.1"),
		want: `
tcp 172.30.0.1:80 rr 10.180.0.1:80
tcp 192.168.99.1:80 rr 10.180.0.1:80
`,
	}, {
		name: "nobody",
		svc:  port80("a", "172.30.0.1", nil),
		want: "tcp 172.30.0.1:80 rr\n",
	}, {
		name: "session affinity",
		svc:  port80("a", "172.30.0.1", func(s *topology.Service) { s.AffinitySeconds = 10800 }, "10.180.0.1"),
		want: "tcp 172.30.0.1:80 rr persistent 10800 10.180.0.1:80\n",
	}, {
		name: "mh distinguishes clients by port",
		lab:  func(l *topology.Lab) { l.Proxy.IPVS.Scheduler = "mh" },
		svc:  port80("a", "172.30.0.1", nil, "10.180.0.1"),
		want: "tcp 172.30.0.1:80 mh mh-port 10.180.0.1:80\n",
	}, {
		name: "weights",
		lab:  func(l *topology.Lab) { l.Proxy.IPVS.Scheduler = "wrr" },
		svc:  port80("a", "172.30.0.1", func(s *topology.Service) { s.Ports[0].Endpoints[1].Weight = 3 }, "10.180.0.1", "10.180.0.2"),
		want: "tcp 172.30.0.1:80 wrr 10.180.0.1:80 10.180.0.2:80=3\n",
	}} {
		t.Run(row.name, func(t *testing.T) {
			if got := servers(compiled(t, row.lab, row.svc)); got != strings.TrimPrefix(row.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	svc := port80("a", "172.30.0.1", external(topology.PolicyCluster, 0, "192.168.0.2", "1.2.3.1"), "10.180.0.1")
	own := fmt.Sprint(compiled(t, nil, svc).Addrs)
	if want := "[{kube-ipvs0 1.2.3.1/32 service ns/a} {kube-ipvs0 172.30.0.1/32 service ns/a}]"; own != want {
		t.Errorf("an address of another link is left there: got %s", own)
	}
	out := compiled(t, func(l *topology.Lab) { l.Proxy.IPVS.Addresses = topology.AddressesRoutes }, svc)
	if len(out.Links)+len(out.Addrs) != 0 || len(out.Routes) != 2 || !out.Routes[0].Local || out.Routes[0].Dev != "lo" {
		t.Errorf("local routes: got %+v %+v %+v", out.Links, out.Addrs, out.Routes)
	}
}

func TestStrictARP(t *testing.T) {
	text := func(n plan.Netns) string { return fmt.Sprint(n.Sysctls) }
	if got := text(compiled(t, nil)); strings.Contains(got, "arp") {
		t.Errorf("not asked for: %s", got)
	}
	strict := text(compiled(t, func(l *topology.Lab) { l.Proxy.IPVS.StrictARP = true }))
	for _, want := range []string{"{net.ipv4.conf.all.arp_ignore 1}", "{net.ipv4.conf.all.arp_announce 2}", "{net.ipv4.vs.conntrack 1}"} {
		if !strings.Contains(strict, want) {
			t.Errorf("no %s in %s", want, strict)
		}
	}
}

func TestSetsOfIPv6HaveNamesOfTheirOwn(t *testing.T) {
	for name, want := range map[string]string{
		setClusterIP: "KUBE-6-CLUSTER-IP", setLoadBalancerSource: "KUBE-6-LOAD-BALANCER-SOURCE-CID", setNodePortLocalSCTP: "KUBE-6-NODE-PORT-LOCAL-SCTP-HAS",
	} {
		if got := nameOfSet(name, true); got != want || len(got) > 31 {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	seen := map[string]bool{}
	for name := range kinds {
		for _, ipv6 := range []bool{false, true} {
			if n := nameOfSet(name, ipv6); seen[n] {
				t.Errorf("%s twice", n)
			} else {
				seen[n] = true
			}
		}
	}
}

func TestSetsHaveWhatRulesMatch(t *testing.T) {
	out := compiled(t, nil, everything()...)
	got := map[string]string{}
	for _, s := range out.Sets {
		for _, e := range s.Entries {
			got[s.Name] += fmt.Sprintf("%s %s:%d %s; ", e.Prefix, e.Proto, e.Port, e.Second)
		}
	}
	none := "invalid Prefix"
	for name, want := range map[string]string{
		"KUBE-LOOP-BACK":                 "10.0.1.7/32 tcp:80 10.0.1.7/32; ",
		"KUBE-CLUSTER-IP":                "172.30.0.1/32 tcp:80 " + none + "; 172.30.0.2/32 tcp:80 " + none + "; 172.30.0.3/32 tcp:80 " + none + "; ",
		"KUBE-EXTERNAL-IP":               "192.168.99.1/32 tcp:80 " + none + "; ",
		"KUBE-EXTERNAL-IP-LOCAL":         "192.168.99.2/32 tcp:80 " + none + "; ",
		"KUBE-LOAD-BALANCER":             "1.2.3.1/32 tcp:80 " + none + "; 1.2.3.2/32 tcp:80 " + none + "; ",
		"KUBE-LOAD-BALANCER-LOCAL":       "1.2.3.2/32 tcp:80 " + none + "; ",
		"KUBE-LOAD-BALANCER-FW":          "1.2.3.2/32 tcp:80 " + none + "; ",
		"KUBE-LOAD-BALANCER-SOURCE-CIDR": "1.2.3.2/32 tcp:80 203.0.113.0/25; ",
		"KUBE-LOAD-BALANCER-SOURCE-IP":   "",
		"KUBE-NODE-PORT-TCP":             none + " :3001 " + none + "; " + none + " :3002 " + none + "; ",
		"KUBE-NODE-PORT-LOCAL-TCP":       none + " :3002 " + none + "; ",
		"KUBE-HEALTH-CHECK-NODE-PORT":    none + " :30000 " + none + "; ",
		"KUBE-IPVS-IPS": "1.2.3.1/32 :0 " + none + "; 1.2.3.2/32 :0 " + none + "; 172.30.0.1/32 :0 " + none + "; 172.30.0.2/32 :0 " + none + "; 172.30.0.3/32 :0 " + none +
			"; 192.168.99.1/32 :0 " + none + "; 192.168.99.2/32 :0 " + none + "; ",
	} {
		if got[name] != want {
			t.Errorf("%s: got %s\nwant %s", name, got[name], want)
		}
	}
	if len(out.Sets) != 17 {
		t.Errorf("%d sets", len(out.Sets))
	}
}

// On a node none of whose addresses serves node ports, kube-proxy adds neither the node port nor
// the health check of such a service.
func TestNoAddressForNodePorts(t *testing.T) {
	out := compiled(t, func(l *topology.Lab) {
		l.Proxy.NodePortAddresses = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	}, everything()...)
	for _, s := range out.Sets {
		if empty := strings.Contains(s.Name, "NODE-PORT"); empty && len(s.Entries) > 0 {
			t.Errorf("%s has %d members", s.Name, len(s.Entries))
		}
	}
	if !slices.ContainsFunc(out.Virtual, func(v planned.Server) bool { return v.Addr.Addr() == netip.MustParseAddr("1.2.3.1") }) {
		t.Error("its other addresses are not served")
	}
}
