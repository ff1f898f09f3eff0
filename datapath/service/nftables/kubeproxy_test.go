package nftables

import (
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// overall are the objects of kube-proxy's TestOverallNFTablesRules: six services, one of each
// kind, on a node with pods in 10.0.0.0/8.
func overall() *topology.Lab {
	port80 := func(namespace, name, clusterIP string, edit func(*topology.Service), endpoints ...string) *topology.Service {
		p := &topology.ServicePort{Name: "p80", Protocol: topology.TCP, Port: 80}
		for _, e := range endpoints {
			a, local := strings.CutSuffix(e, "@here")
			ep := &topology.Endpoint{Addr: netip.AddrPortFrom(netip.MustParseAddr(a), 80), Ready: true, Serving: true}
			if local {
				ep.Node = "test-node"
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
	addr := func(a string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(a)} }
	vip := func(a string) []topology.LoadBalancerIP {
		return []topology.LoadBalancerIP{{Addr: netip.MustParseAddr(a)}}
	}
	node := &topology.Node{Name: "test-node", Addrs: addr("192.168.0.2")}
	return &topology.Lab{
		Nodes: []*topology.Node{node},
		Network: topology.Network{PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
			ServiceCIDRs: []netip.Prefix{netip.MustParsePrefix("172.30.0.0/16")}},
		Proxy: topology.Proxy{Mode: Backend().ProxyMode},
		Services: []*topology.Service{
			port80("ns1", "svc1", "172.30.0.41", nil, "10.180.0.1"),
			port80("ns2", "svc2", "172.30.0.42", func(s *topology.Service) {
				s.Type, s.ExternalTrafficPolicy, s.HealthCheckNodePort = topology.LoadBalancer, topology.PolicyLocal, 30000
				s.Ports[0].NodePort, s.ExternalIPs, s.LoadBalancers = 3001, addr("192.168.99.22"), vip("1.2.3.4")
			}, "10.180.0.2"),
			port80("ns3", "svc3", "172.30.0.43", func(s *topology.Service) { s.Type, s.Ports[0].NodePort = topology.NodePort, 3003 }, "10.180.0.3"),
			port80("ns4", "svc4", "172.30.0.44", func(s *topology.Service) { s.ExternalIPs = addr("192.168.99.33") }, "10.180.0.4", "10.180.0.5@here"),
			port80("ns5", "svc5", "172.30.0.45", func(s *topology.Service) {
				s.Type, s.Ports[0].NodePort, s.AffinitySeconds = topology.LoadBalancer, 3002, 10800
				s.LoadBalancers, s.SourceRanges = vip("5.6.7.8"), []netip.Prefix{netip.MustParsePrefix("203.0.113.0/25")}
			}, "10.180.0.3"),
			port80("ns6", "svc6", "172.30.0.46", nil),
		},
	}
}

func compiled(t *testing.T, lab *topology.Lab) nft.Table {
	t.Helper()
	addrs := append([]netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.168.1.2")}, lab.Nodes[0].Addrs...)
	tables := compile(service.NewView(lab, lab.Nodes[0], addrs)).NFT
	nft.Sort(tables)
	return tables[0]
}

// commands are the commands that create a table, without nft; one for each element.
func commands(table nft.Table) (list []string) {
	for _, c := range nft.Create([]nft.Table{table})[0].Commands() {
		if c.Elements == nil {
			list = append(list, strings.TrimPrefix(c.String(), "nft "))
			continue
		}
		for _, e := range c.Elements {
			one := c
			one.Elements = []nft.Element{e}
			list = append(list, strings.TrimPrefix(one.String(), "nft "))
		}
	}
	return list
}

// asListed writes kube-proxy's commands as nft lists what they make.
var asListed = strings.NewReplacer(" ; }", "; }", " ; ", "; ", " , ", ", ",
	"mark set mark or 0x4000", "meta mark set meta mark | 0x00004000", "mark set mark xor 0x4000", "meta mark set meta mark ^ 0x00004000",
	"mark and 0x4000 == 0 ", "meta mark & 0x00004000 == 0x00000000 ",
	"{ 203.0.113.0/25 }", "203.0.113.0/25", "{ 172.30.0.0/16 }", "172.30.0.0/16",
	"prerouting priority -110 ;", "prerouting priority dstnat - 10; policy accept;", "output priority -110 ;", "output priority -110; policy accept;",
	"priority 0 ;", "priority filter; policy accept;", "priority 100 ;", "priority srcnat; policy accept;",
	"prerouting priority -100 ;", "prerouting priority dstnat; policy accept;", "output priority -100 ;", "output priority -100; policy accept;",
	"flags dynamic,timeout ; timeout 10800s ;", "size 65535; flags dynamic,timeout; timeout 3h;")

// The rules are those of kube-proxy, to the letter; of the order, only that within a chain
// counts.
func TestRulesAreThoseOfKubeProxy(t *testing.T) {
	text, err := os.ReadFile("testdata/kubeproxy-overall.nft")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "add ") {
			want = append(want, asListed.Replace(strings.TrimSpace(line)))
		}
	}
	got := commands(compiled(t, overall()))
	// Stable: rules of a chain stay in order.
	object := func(a, b string) int {
		place := func(s string) string {
			words := strings.Fields(s)
			if words[1] == "rule" {
				return strings.Join(words[:5], " ")
			}
			return s
		}
		return strings.Compare(place(a), place(b))
	}
	slices.SortStableFunc(want, object)
	slices.SortStableFunc(got, object)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-kube-proxy +ours:\n%s", d)
	}
}

// The names of kube-proxy's Test_servicePortChainNameBase and Test_servicePortEndpointChainNameBase.
func TestNamesAreThoseOfKubeProxy(t *testing.T) {
	const longNamespace, longName = "very-long-namespace-name-abcdefghijklmnopqrstuvwxyz0123456789xx", "very-long-service-name-why-would-you-even-do-this-i-mean-really"
	const longPort = "port-443-providing-the-hypertext-transmission-protocol-with-tls"
	const long = longNamespace + "/" + longName + "/sctp/" + longPort
	for _, row := range []struct {
		namespace, name, port string
		protocol              topology.Protocol
		endpoint, want        string
	}{
		{"testing", "service", "http", topology.TCP, "", "P4ZYZVCF-testing/service/tcp/http"},
		{"testing", "service", "https", topology.TCP, "", "LZBRENCP-testing/service/tcp/https"},
		{longNamespace, longName, longPort, topology.SCTP, "", "KR6NACJP-" + long},
		{"testing", "service", "http", topology.TCP, "10.180.0.1:80", "JO2XBXZR-testing/service/tcp/http__10.180.0.1/80"},
		{longNamespace, longName, longPort, topology.SCTP, "[1234:5678:9abc:def0::abc:1234]:443", "5YS7AFEA-" + long + "__1234.5678.9abc.def0..abc.1234/443"},
	} {
		p := &service.Port{Service: &topology.Service{Namespace: row.namespace, Name: row.name}, Port: &topology.ServicePort{Name: row.port, Protocol: row.protocol}}
		got := baseName(p)
		if row.endpoint != "" {
			got = endpointName(p, netip.MustParseAddrPort(row.endpoint))
		}
		if got != row.want {
			t.Errorf("got  %s\nwant %s", got, row.want)
		}
	}
}

func TestLongNamesAreCut(t *testing.T) {
	a, b := hashed(strings.Repeat("a", 300)), hashed(strings.Repeat("a", 299)+"b")
	if len(a) != maxName || !strings.HasSuffix(a, "aaa...") || a == b {
		t.Errorf("got %s and %s", a, b)
	}
}

// Single features, in the rules of some chains.
func TestFeatures(t *testing.T) {
	for _, row := range []struct {
		name  string
		lab   func(*topology.Lab)
		chain string
		want  []string // its rules
	}{
		{"all addresses of the node", func(l *topology.Lab) { l.Proxy.NodePortAddresses = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")} }, services, []string{
			"ip daddr . meta l4proto . th dport vmap @service-ips",
			"fib daddr type local ip daddr != 127.0.0.0/8 meta l4proto . th dport vmap @service-nodeports"}},
		{"masquerade all", func(l *topology.Lab) { l.Proxy.MasqueradeAll = true }, "service-ULMVA6XW-ns1/svc1/tcp/p80", []string{
			"ip daddr 172.30.0.41 jump mark-for-masquerade",
			"numgen random mod 1 vmap { 0 : goto endpoint-5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80 }"}},
		{"local traffic is not detected", func(l *topology.Lab) { l.Proxy.DetectLocal = topology.DetectNone }, "external-42NFTM6N-ns2/svc2/tcp/p80", []string{
			`fib saddr type local jump mark-for-masquerade comment "masquerade local traffic"`,
			`fib saddr type local goto service-42NFTM6N-ns2/svc2/tcp/p80 comment "short-circuit local traffic"`}},
		{"the node is inside the source ranges, which overlap", func(l *topology.Lab) {
			l.Services[4].SourceRanges = []netip.Prefix{netip.MustParsePrefix("192.168.0.128/25"), netip.MustParsePrefix("203.0.113.0/25"), netip.MustParsePrefix("192.168.0.0/24")}
		}, "firewall-HVFWP5L3-ns5/svc5/tcp/p80", []string{"ip saddr != { 5.6.7.8, 192.168.0.0/24, 203.0.113.0/25 } drop"}},
		{"external policy Local with an endpoint here", func(l *topology.Lab) { l.Services[3].ExternalTrafficPolicy = topology.PolicyLocal }, "local-LAUZTJTB-ns4/svc4/tcp/p80", []string{
			"numgen random mod 1 vmap { 0 : goto endpoint-5RFCDDV7-ns4/svc4/tcp/p80__10.180.0.5/80 }"}},
		{"no cluster IPs are known", func(l *topology.Lab) { l.Network.ServiceCIDRs = nil }, clusterIPsCheck, []string{
			`ip daddr @cluster-ips reject comment "Reject traffic to invalid ports of ClusterIPs"`}},
	} {
		lab := overall()
		row.lab(lab)
		var got []string
		for _, c := range compiled(t, lab).Chains {
			for i := range c.Rules {
				if c.Name == row.chain {
					got = append(got, c.Rules[i].Words())
				}
			}
		}
		if d := cmp.Diff(row.want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", row.name, d)
		}
	}
}
