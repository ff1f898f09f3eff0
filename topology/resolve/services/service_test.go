package services_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

func set[T any](v T) topology.Opt[T] {
	return topology.Opt[T]{Value: v, Set: true, Origin: topology.Origin{Line: 1}}
}

// twoNodes is a lab with a service, as a base for cases that change one thing.
func twoNodes() *topology.Spec {
	return &topology.Spec{
		Name:    "lab",
		Nodes:   []topology.NodeSpec{{Name: "node1"}, {Name: "node2"}},
		Clients: []topology.ClientSpec{{Name: "laptop"}},
		Pods: []topology.PodSpec{
			{Block: "web", Key: "0", Labels: map[string]string{"app": "web"}, Ports: []topology.PortSpec{{Name: "http", Port: set(8080)}}},
			{Block: "web", Key: "1", Index: 1, Labels: map[string]string{"app": "web"}, Ports: []topology.PortSpec{{Name: "http", Port: set(8080)}}},
		},
		Services: []topology.ServiceSpec{{
			Name: "web", Type: set("NodePort"), Selector: map[string]string{"app": "web"},
			Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80), TargetPort: set("http"), NodePort: set(31380)}},
		}},
	}
}

// resolved resolves twoNodes with its service changed, and expects no problem.
func resolved(t *testing.T, edit func(*topology.Spec, *topology.ServiceSpec)) (*topology.Lab, *topology.Service) {
	t.Helper()
	spec := twoNodes()
	edit(spec, &spec.Services[0])
	lab, problems := resolve.Lab(spec, datapath.Catalogue())
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	return lab, lab.Services[0]
}

func addrs(texts ...string) topology.Opt[[]netip.Addr] {
	var out []netip.Addr
	for _, t := range texts {
		out = append(out, netip.MustParseAddr(t))
	}
	return set(out)
}

func nodesOf(list []*topology.Node) string {
	var out []string
	for _, n := range list {
		out = append(out, n.Name)
	}
	return strings.Join(out, " ")
}

func dualStack(s *topology.Spec) {
	s.Network.PodCIDRs = set([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/56")})
}

func TestLoadBalancersGetWhatTheyNeed(t *testing.T) {
	_, sv := resolved(t, func(_ *topology.Spec, s *topology.ServiceSpec) {
		s.Type = set("LoadBalancer")
		s.Ports[0].NodePort = topology.Opt[int]{}
	})
	if len(sv.LoadBalancers) != 1 || !netip.MustParsePrefix("203.0.113.0/24").Contains(sv.LoadBalancers[0].Addr) || sv.LoadBalancers[0].Proxy {
		t.Errorf("addresses %v", sv.LoadBalancers)
	}
	if sv.Ports[0].NodePort == 0 || sv.HealthCheckNodePort != 0 || nodesOf(sv.Via) != "node1 node2" {
		t.Errorf("node port %d, health check %d, via %s", sv.Ports[0].NodePort, sv.HealthCheckNodePort, nodesOf(sv.Via))
	}
}

func TestLocalLoadBalancersAreCheckedForHealth(t *testing.T) {
	_, sv := resolved(t, func(s *topology.Spec, sv *topology.ServiceSpec) {
		sv.Type, sv.ExternalTrafficPolicy = set("LoadBalancer"), set("Local")
		sv.LoadBalancerIPs, sv.LoadBalancerMode = addrs("192.0.2.1", "192.0.2.2"), set("Proxy")
		s.Pods[1].Terminating = set(true) // on node2
	})
	want := []topology.LoadBalancerIP{{Addr: netip.MustParseAddr("192.0.2.1"), Proxy: true}, {Addr: netip.MustParseAddr("192.0.2.2"), Proxy: true}}
	if !slices.Equal(sv.LoadBalancers, want) {
		t.Errorf("addresses %v", sv.LoadBalancers)
	}
	if sv.HealthCheckNodePort == 0 || sv.HealthCheckNodePort == sv.Ports[0].NodePort || nodesOf(sv.Via) != "node1" {
		t.Errorf("health check %d, via %s: the outside sends to nodes with a ready endpoint", sv.HealthCheckNodePort, nodesOf(sv.Via))
	}
}

func TestAffinityLastsThreeHoursByDefault(t *testing.T) {
	for want, edit := range map[int]func(*topology.ServiceSpec){
		0:     func(*topology.ServiceSpec) {},
		10800: func(s *topology.ServiceSpec) { s.SessionAffinity = set("ClientIP") },
		86400: func(s *topology.ServiceSpec) { s.SessionAffinity, s.AffinitySeconds = set("ClientIP"), set(86400) },
	} {
		if _, sv := resolved(t, func(_ *topology.Spec, s *topology.ServiceSpec) { edit(s) }); sv.AffinitySeconds != want {
			t.Errorf("%d seconds, want %d", sv.AffinitySeconds, want)
		}
	}
}

func TestHintsAreTheEndpointsOwnZoneAndNode(t *testing.T) {
	for distribution, want := range map[string]string{
		"PreferClose": "a/, b/", "PreferSameZone": "a/, b/", "PreferSameNode": "a/node1, b/node2",
	} {
		_, sv := resolved(t, func(s *topology.Spec, sv *topology.ServiceSpec) {
			s.Nodes[0].Zone = set("a")
			s.Nodes[1].Labels = map[string]string{"topology.kubernetes.io/zone": "b"}
			sv.TrafficDistribution = set(distribution)
		})
		var got []string
		for _, e := range sv.Ports[0].Endpoints {
			got = append(got, strings.Join(e.ForZones, " ")+"/"+strings.Join(e.ForNodes, " "))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", distribution, got, want)
		}
	}
}

func TestEndpointsThatAreNotReadyHaveNoHints(t *testing.T) {
	_, sv := resolved(t, func(s *topology.Spec, sv *topology.ServiceSpec) {
		s.Nodes[0].Zone, s.Nodes[1].Zone = set("a"), set("b")
		s.Pods[0].Ready = set(false)
		sv.TrafficDistribution = set("PreferSameZone")
	})
	for _, e := range sv.Ports[0].Endpoints {
		if (len(e.ForZones) > 0) != e.Ready {
			t.Errorf("%v: ready %v, zones %v", e.Addr, e.Ready, e.ForZones)
		}
	}
}

func TestPublishNotReadyAddressesMakesAllReady(t *testing.T) {
	_, sv := resolved(t, func(s *topology.Spec, sv *topology.ServiceSpec) {
		s.Pods[0].Ready, s.Pods[1].Terminating = set(false), set(true)
		sv.PublishNotReadyAddresses = set(true)
	})
	var got []string
	for _, e := range sv.Ports[0].Endpoints {
		got = append(got, fmt.Sprint(e.Pod.Name, e.Ready, e.Serving, e.Terminating))
	}
	if want := []string{"web-0true false false", "web-1true true true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWrittenEndpoints(t *testing.T) {
	_, sv := resolved(t, func(s *topology.Spec, sv *topology.ServiceSpec) {
		s.Nodes[1].Zone = set("b")
		s.Pods[1].Terminating = set(true)
		sv.Selector = nil
		sv.Endpoints = []topology.EndpointSpec{
			{Pod: set("default/web-0"), ForZones: set([]string{"b", "a", "a"}), ForNodes: set([]string{"node2"})},
			{Pod: set("default/web-1")},
			{Address: set(netip.MustParseAddr("192.168.0.100")), Port: set(9000), Node: set("node2"), Ready: set(false)},
			{Address: set(netip.MustParseAddr("192.168.0.101")), Port: set(9000), Terminating: set(true), PortName: set("http")},
		}
	})
	var got []string
	for _, e := range sv.Ports[0].Endpoints {
		got = append(got, fmt.Sprintf("%d %v/%v/%v %s/%s %v%v", e.Addr.Port(), e.Ready, e.Serving, e.Terminating, e.Node, e.Zone, e.ForZones, e.ForNodes))
	}
	want := []string{
		"8080 true/true/false node1/ [a b][node2]", "8080 false/true/true node2/b [][]",
		"9000 false/false/false node2/b [][]", "9000 false/true/true / [][]",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestFamiliesOfServices(t *testing.T) {
	four, six := "4", "6"
	tests := []struct {
		name string
		edit func(*topology.Spec, *topology.ServiceSpec)
		want string
	}{
		{"the first by default", func(*topology.Spec, *topology.ServiceSpec) {}, four},
		{"the first as written", func(s *topology.Spec, _ *topology.ServiceSpec) {
			s.Network.ServiceCIDRs = set([]netip.Prefix{netip.MustParsePrefix("fd00:5::/112"), netip.MustParsePrefix("10.96.0.0/16")})
		}, six},
		{"as asked", func(_ *topology.Spec, sv *topology.ServiceSpec) { sv.IPFamilies = set([]string{"IPv6"}) }, six},
		{"both", func(_ *topology.Spec, sv *topology.ServiceSpec) { sv.IPFamilyPolicy = set("RequireDualStack") }, four + six},
		{"both in the order asked", func(_ *topology.Spec, sv *topology.ServiceSpec) {
			sv.IPFamilyPolicy, sv.IPFamilies = set("PreferDualStack"), set([]string{"IPv6", "IPv4"})
		}, six + four},
		{"that of the address", func(_ *topology.Spec, sv *topology.ServiceSpec) { sv.ClusterIP = set("fd00:10:96::99") }, six},
		{"those of the addresses", func(_ *topology.Spec, sv *topology.ServiceSpec) {
			sv.IPFamilyPolicy, sv.ClusterIPs = set("RequireDualStack"), set([]string{"fd00:10:96::99", "10.96.0.99"})
		}, six + four},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, sv := resolved(t, func(s *topology.Spec, sv *topology.ServiceSpec) { dualStack(s); tt.edit(s, sv) })
			got, families := "", map[bool]int{}
			for _, a := range sv.ClusterIPs {
				if a.Is4() {
					got += four
				} else {
					got += six
				}
			}
			for _, e := range sv.Ports[0].Endpoints {
				families[e.Addr.Addr().Is6()]++
			}
			if got != tt.want {
				t.Errorf("cluster IPs %v, want families %s", sv.ClusterIPs, tt.want)
			}
			if families[false] > 0 != strings.Contains(got, four) || families[true] > 0 != strings.Contains(got, six) {
				t.Errorf("endpoints per family: %v", families)
			}
		})
	}
}

func TestHeadlessAndAliasesHaveNoAddress(t *testing.T) {
	_, headless := resolved(t, func(_ *topology.Spec, s *topology.ServiceSpec) {
		s.Type, s.ClusterIP, s.Ports[0].NodePort = topology.Opt[string]{}, set("None"), topology.Opt[int]{}
	})
	if len(headless.ClusterIPs) != 0 || len(headless.Ports[0].Endpoints) != 2 {
		t.Errorf("headless: %v", headless)
	}
	_, alias := resolved(t, func(_ *topology.Spec, s *topology.ServiceSpec) {
		*s = topology.ServiceSpec{Name: "web", Type: set("ExternalName"), ExternalName: set("db.example.com.")}
	})
	if len(alias.ClusterIPs) != 0 || alias.ExternalName != "db.example.com." {
		t.Errorf("alias: %v", alias)
	}
}

func TestLabelsLeaveServicesToOtherProxies(t *testing.T) {
	for _, label := range []string{"service.kubernetes.io/service-proxy-name", "service.kubernetes.io/headless"} {
		_, sv := resolved(t, func(_ *topology.Spec, s *topology.ServiceSpec) { s.Labels = map[string]string{label: ""} })
		if !sv.Unmanaged {
			t.Errorf("%s: managed", label)
		}
	}
}

func TestARangeOfAllAddressesLiftsTheRestriction(t *testing.T) {
	for ranges, want := range map[string]string{
		" 10.0.0.1/8 ,fd00::/8": "[10.0.0.0/8 fd00::/8]", "10.0.0.0/8,0.0.0.0/0": "[]", "10.0.0.0/8,::/0": "[]",
	} {
		_, sv := resolved(t, func(_ *topology.Spec, s *topology.ServiceSpec) {
			s.Type, s.SourceRanges = set("LoadBalancer"), set(strings.Split(ranges, ","))
		})
		if got := fmt.Sprint(sv.SourceRanges); got != want {
			t.Errorf("%s: %s, want %s", ranges, got, want)
		}
	}
}

func FuzzServicesNeverPanic(f *testing.F) {
	f.Add("LoadBalancer", "None", "IPv6", "192.0.2.1", "Local", 32000, uint8(3))
	f.Add("ExternalName", "10.96.0.9", "IPv4", "::", "", -1, uint8(255))
	f.Fuzz(func(t *testing.T, kind, ip, family, address, policy string, number int, bits uint8) {
		on := func(n int) bool { return bits&(1<<n) != 0 }
		a, _ := netip.ParseAddr(address)
		spec := twoNodes()
		if on(0) {
			dualStack(spec)
		}
		s := &spec.Services[0]
		s.Type, s.ExternalTrafficPolicy, s.TrafficDistribution = set(kind), set(policy), set(policy)
		s.ClusterIPs = set([]string{ip, address})
		if on(1) {
			s.IPFamilies, s.IPFamilyPolicy = set([]string{family, "IPv4"}), set(policy)
		}
		if on(2) {
			s.ExternalIPs, s.LoadBalancerIPs = set([]netip.Addr{a}), set([]netip.Addr{a, a})
		}
		if on(3) {
			s.HealthCheckNodePort, s.AffinitySeconds, s.SessionAffinity = set(number), set(number), set(policy)
		}
		if on(4) {
			s.Selector = nil
			s.Endpoints = []topology.EndpointSpec{{Address: set(a), Port: set(number)}, {Pod: set(ip)}, {Pod: set("default/web-0"), Node: set(ip), PortName: set(policy)}}
		}
		s.SourceRanges, s.LoadBalancerVia, s.ExternalName = set([]string{ip, address}), set([]string{policy, "node1"}), set(ip)
		lab, problems := resolve.Lab(spec, datapath.Catalogue())
		if problems.Failed() {
			return
		}
		for _, p := range lab.Services[0].Ports {
			for _, e := range p.Endpoints {
				if !e.Addr.IsValid() || e.Addr.Port() == 0 {
					t.Errorf("endpoint %+v", e)
				}
			}
		}
	})
}
