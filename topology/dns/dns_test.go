package dns_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/zone"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/dns"
)

// lab has a service of each kind. Its addresses are those of the examples in the
// specification.
func lab() *topology.Lab {
	pod := func(name, addr, hostname string) *topology.Pod {
		return &topology.Pod{Name: name, Namespace: "default", Hostname: hostname, Subdomain: "headless", Addrs: []netip.Addr{netip.MustParseAddr(addr)}}
	}
	ready, plain, starting := pod("ready", "10.3.0.100", "my-pet"), pod("plain", "10.3.0.101", ""), pod("starting", "10.3.0.102", "late")
	endpoint := func(p *topology.Pod, ready bool) *topology.Endpoint {
		return &topology.Endpoint{Addr: netip.AddrPortFrom(p.Addrs[0], 8443), Pod: p, Ready: ready}
	}
	both := []netip.Addr{netip.MustParseAddr("10.3.0.1"), netip.MustParseAddr("2001:db8::1")}
	https := func(endpoints ...*topology.Endpoint) []*topology.ServicePort {
		return []*topology.ServicePort{{Name: "https", Protocol: topology.TCP, Port: 443, Endpoints: endpoints}}
	}
	return &topology.Lab{
		DNS:   &topology.DNS{ClusterDomain: "cluster.local", Servers: []netip.Addr{netip.MustParseAddr("10.3.0.10")}},
		Nodes: []*topology.Node{{Name: "node1", Addrs: []netip.Addr{netip.MustParseAddr("192.168.0.11")}}},
		Pods:  []*topology.Pod{plain, ready, starting},
		Services: []*topology.Service{
			{Name: "alias", Namespace: "default", Type: topology.ExternalName, ExternalName: "DB.example.com."},
			{Name: "headless", Namespace: "default", Ports: https(endpoint(ready, true), endpoint(plain, true), endpoint(starting, false))},
			{Name: "kubernetes", Namespace: "default", ClusterIPs: both, Ports: https(endpoint(ready, true))},
			{Name: "portless", Namespace: "default", Portless: []*topology.Endpoint{
				{Addr: netip.MustParseAddrPort("192.0.2.9:0"), Ready: true, Hostname: "far"}, {Addr: netip.MustParseAddrPort("192.0.2.10:0")}}},
			{Name: "kube-dns", Namespace: "kube-system", ClusterIPs: []netip.Addr{netip.MustParseAddr("10.3.0.10")}},
			{Name: "unnamed", Namespace: "prod", ClusterIPs: both[:1], Ports: []*topology.ServicePort{{Protocol: topology.TCP, Port: 80}}},
		},
	}
}

// The records are those of the specification, section by section, after those of the zones
// themselves, which are CoreDNS's.
func TestRecordsAreThoseOfTheSpecification(t *testing.T) {
	want := `
dns-version.cluster.local. 30 IN TXT "1.1.0"

cluster.local. 30 IN SOA ns.dns.cluster.local. hostmaster.cluster.local. 1 7200 1800 86400 30
cluster.local. 30 IN NS kube-dns.kube-system.svc.cluster.local.
ns.dns.cluster.local. 30 IN A 10.3.0.10
in-addr.arpa. 30 IN SOA ns.dns.in-addr.arpa. hostmaster.in-addr.arpa. 1 7200 1800 86400 30
ip6.arpa. 30 IN SOA ns.dns.ip6.arpa. hostmaster.ip6.arpa. 1 7200 1800 86400 30
kube-dns.kube-system.svc.cluster.local. 30 IN A 10.3.0.10
10.0.3.10.in-addr.arpa. 30 IN PTR kube-dns.kube-system.svc.cluster.local.

kubernetes.default.svc.cluster.local. 30 IN A 10.3.0.1
kubernetes.default.svc.cluster.local. 30 IN AAAA 2001:db8::1
_https._tcp.kubernetes.default.svc.cluster.local. 30 IN SRV 0 100 443 kubernetes.default.svc.cluster.local.
1.0.3.10.in-addr.arpa. 30 IN PTR kubernetes.default.svc.cluster.local.
1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 30 IN PTR kubernetes.default.svc.cluster.local.

unnamed.prod.svc.cluster.local. 30 IN A 10.3.0.1
1.0.3.10.in-addr.arpa. 30 IN PTR unnamed.prod.svc.cluster.local.

headless.default.svc.cluster.local. 30 IN A 10.3.0.100
headless.default.svc.cluster.local. 30 IN A 10.3.0.101
my-pet.headless.default.svc.cluster.local. 30 IN A 10.3.0.100
10-3-0-101.headless.default.svc.cluster.local. 30 IN A 10.3.0.101
_https._tcp.headless.default.svc.cluster.local. 30 IN SRV 0 100 8443 my-pet.headless.default.svc.cluster.local.
_https._tcp.headless.default.svc.cluster.local. 30 IN SRV 0 100 8443 10-3-0-101.headless.default.svc.cluster.local.
100.0.3.10.in-addr.arpa. 30 IN PTR my-pet.headless.default.svc.cluster.local.
101.0.3.10.in-addr.arpa. 30 IN PTR 10-3-0-101.headless.default.svc.cluster.local.

portless.default.svc.cluster.local. 30 IN A 192.0.2.9
far.portless.default.svc.cluster.local. 30 IN A 192.0.2.9
9.2.0.192.in-addr.arpa. 30 IN PTR far.portless.default.svc.cluster.local.

alias.default.svc.cluster.local. 30 IN CNAME db.example.com.

10-3-0-100.default.pod.cluster.local. 30 IN A 10.3.0.100
10-3-0-101.default.pod.cluster.local. 30 IN A 10.3.0.101
10-3-0-102.default.pod.cluster.local. 30 IN A 10.3.0.102

node1. 30 IN A 192.168.0.11
`
	wanted := map[string]bool{}
	for line := range strings.SplitSeq(want, "\n") {
		if line != "" {
			wanted[line] = true
		}
	}
	for _, r := range dns.Records(lab()) {
		if !wanted[r.String()] {
			t.Errorf("not in the specification: %s", r)
		}
		delete(wanted, r.String())
	}
	for line := range wanted {
		t.Errorf("missing: %s", line)
	}
}

func TestResolversOfPods(t *testing.T) {
	own := topology.DNSConfig{
		Nameservers: []netip.Addr{netip.MustParseAddr("10.3.0.10"), netip.MustParseAddr("192.168.0.53")},
		Searches:    []string{"example.com", "svc.cluster.local"},
		Options:     []topology.DNSOption{{Name: "ndots", Value: "2"}, {Name: "rotate"}},
	}
	const cluster = "search prod.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.3.0.10\noptions ndots:5\n"
	for _, row := range []struct {
		name string
		pod  topology.Pod
		want string // "": that of the node
	}{
		{"by default", topology.Pod{DNSPolicy: topology.ClusterFirst}, cluster},
		{"on the network of the node", topology.Pod{DNSPolicy: topology.ClusterFirst, HostNetwork: true}, ""},
		{"there, but asking the cluster", topology.Pod{DNSPolicy: topology.ClusterFirstWithHostNet, HostNetwork: true}, cluster},
		{"as the node", topology.Pod{DNSPolicy: topology.DNSDefault}, ""},
		{"alone", topology.Pod{DNSPolicy: topology.DNSNone, DNSConfig: own}, "search example.com svc.cluster.local\nnameserver 10.3.0.10\nnameserver 192.168.0.53\noptions ndots:2 rotate\n"},
		{"merged", topology.Pod{DNSPolicy: topology.ClusterFirst, DNSConfig: own}, "search prod.svc.cluster.local svc.cluster.local cluster.local example.com\nnameserver 10.3.0.10\nnameserver 192.168.0.53\noptions ndots:2 rotate\n"},
	} {
		row.pod.Namespace = "prod"
		r, ok := dns.Of(lab(), &row.pod)
		if text := r.Text(); ok != (row.want != "") || ok && text != row.want {
			t.Errorf("%s: %v %q, want %q", row.name, ok, text, row.want)
		}
	}
	if _, ok := dns.Of(&topology.Lab{}, &topology.Pod{}); ok {
		t.Error("a lab without name servers has a resolver")
	}
}

// Whoever asks for a record that is there gets it.
func TestEveryRecordIsFound(t *testing.T) {
	records := dns.Records(lab())
	x := zone.NewIndex(records)
	for _, r := range records {
		found := false
		for _, a := range x.Answer(r.Name, r.Type).Records {
			found = found || a.Key() == r.Key()
		}
		if !found {
			t.Errorf("not found: %s", r)
		}
	}
}
