package service

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/topology"
)

func addrs(text string) []netip.Addr {
	var list []netip.Addr
	for _, s := range strings.Fields(text) {
		list = append(list, netip.MustParseAddr(s))
	}
	return list
}

func prefixes(text string) []netip.Prefix {
	var list []netip.Prefix
	for _, s := range strings.Fields(text) {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

// balanced is a load balancer of both families.
func balanced() *topology.Service {
	return &topology.Service{Name: "web", Namespace: "default", Type: topology.LoadBalancer, ClusterIPs: addrs("10.96.0.1 fd00:96::1"),
		ExternalIPs:   addrs("203.0.113.1 2001:db8::1"),
		LoadBalancers: []topology.LoadBalancerIP{{Addr: netip.MustParseAddr("203.0.113.2")}, {Addr: netip.MustParseAddr("203.0.113.3"), Proxy: true}, {Addr: netip.MustParseAddr("2001:db8::2")}},
		Ports:         []*topology.ServicePort{{Name: "http", Protocol: topology.TCP, Port: 80, NodePort: 30080}}}
}

func view(svc *topology.Service) View {
	return NewView(&topology.Lab{Services: []*topology.Service{svc}}, &topology.Node{Name: "a"}, nil)
}

func TestEachFamilyHasItsOwnAddresses(t *testing.T) {
	for i, want := range []string{"[203.0.113.1] [203.0.113.2]", "[2001:db8::1] [2001:db8::2]"} {
		p := view(balanced()).Ports[i]
		if got := fmt.Sprint(p.ExternalIPs, p.VIPs); strings.ReplaceAll(got, "][", "] [") != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestServicesOfOthersHaveNoPorts(t *testing.T) {
	for name, edit := range map[string]func(*topology.Service){
		"unmanaged":                    func(s *topology.Service) { s.Unmanaged = true },
		"headless":                     func(s *topology.Service) { s.ClusterIPs = nil },
		"ExternalName with cluster IP": func(s *topology.Service) { s.Type = topology.ExternalName },
	} {
		svc := balanced()
		edit(svc)
		if v := view(svc); len(v.Ports) != 0 {
			t.Errorf("%s: %d ports", name, len(v.Ports))
		}
	}
}

func TestSourceRangesAreOfTheFamilyAndZeroMeansNone(t *testing.T) {
	for _, row := range []struct{ ranges, v4, v6 string }{
		{"", "[]", "[]"},
		{"10.0.0.0/8 fd00::/8 192.168.0.0/16", "[10.0.0.0/8 192.168.0.0/16]", "[fd00::/8]"},
		{"10.0.0.0/8", "[10.0.0.0/8]", "[]"},
		{"10.0.0.0/8 0.0.0.0/0 fd00::/8", "[]", "[fd00::/8]"},
		{"10.0.0.0/8 ::/0", "[10.0.0.0/8]", "[]"},
	} {
		svc := balanced()
		svc.SourceRanges = prefixes(row.ranges)
		v := view(svc)
		if got4, got6 := fmt.Sprint(v.Ports[0].SourceRanges), fmt.Sprint(v.Ports[1].SourceRanges); got4 != row.v4 || got6 != row.v6 {
			t.Errorf("%q: got %s and %s, want %s and %s", row.ranges, got4, got6, row.v4, row.v6)
		}
	}
}

func TestHealthChecksCountReadyEndpointsOfTheNode(t *testing.T) {
	svc := balanced()
	svc.HealthCheckNodePort, svc.ExternalTrafficPolicy = 32000, topology.PolicyLocal
	svc.Ports = append(svc.Ports, &topology.ServicePort{Name: "https", Port: 443})
	for _, p := range svc.Ports {
		p.Endpoints = endpoints("a1:r a2:r a3:n a4:s b1:r")
	}
	got := HealthChecks(view(svc))
	if len(got) != 1 || got[0].Health != (occupant.Health{Namespace: "default", Service: "web", LocalEndpoints: 2}) ||
		fmt.Sprint(got[0].Listen) != "[{tcp 32000}]" || got[0].Node != "a" {
		t.Errorf("got %+v", got)
	}
	svc.ExternalTrafficPolicy = topology.PolicyCluster
	if got := HealthChecks(view(svc)); len(got) != 0 {
		t.Errorf("policy Cluster: %+v", got)
	}
	svc.ExternalTrafficPolicy, svc.Type = topology.PolicyLocal, topology.NodePort
	if got := HealthChecks(view(svc)); len(got) != 0 {
		t.Errorf("type NodePort: %+v", got)
	}
}

func TestUDPServicesListAllThatServe(t *testing.T) {
	svc := balanced()
	svc.ExternalTrafficPolicy = topology.PolicyLocal
	svc.Ports[0].Protocol, svc.Ports[0].Endpoints = topology.UDP, endpoints("a1:n b1:r b2:s c1:t")
	got := UDPServices(view(svc))
	if len(got) != 1 { // IPv6 has no endpoint
		t.Fatalf("got %+v", got)
	}
	if s := fmt.Sprint(got[0].To, got[0].NodePort, got[0].Endpoints); s != "[10.96.0.1:80 203.0.113.1:80 203.0.113.2:80] 30080 [10.244.2.2:80 10.244.2.3:80]" {
		t.Errorf("got %s", s)
	}
	svc.Ports[0].Protocol = topology.TCP
	if got := UDPServices(view(svc)); len(got) != 0 {
		t.Errorf("TCP: got %+v", got)
	}
}
