package datapath_test

import (
	"net/netip"
	"strconv"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// golden is a lab whose plan is in testdata.
type golden struct {
	name  string
	about string
	spec  topology.Spec
}

// labs are the labs whose plans are in testdata, by the name of the file.
var labs = []golden{{
	name: "local-policy",
	about: `Mode vxlan, a NodePort service with external traffic policy Local.

              node1 (web-0) ---+--- node2 (no pod)
                               |
                             laptop
`,
	spec: topology.Spec{
		Nodes:   nodes("node1", "node2"),
		Clients: []topology.ClientSpec{{Name: "laptop", Origin: at(5)}},
		Pods:    []topology.PodSpec{pod("web", 0, "node1")},
		Services: []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) {
			s.Type, s.ExternalTrafficPolicy = set("NodePort"), set("Local")
			s.Ports[0].NodePort = set(31380)
		})},
	},
}, {
	name: "host-gw",
	about: `Mode host-gw, a NodePort service with two endpoints, one more in another
namespace, a pod in the host's network, a serving client and an underlay of 9000 bytes.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw"), MTU: set(9000), Origin: at(1)},
		Nodes:   nodes("node1", "node2", "a-node-with-a-long-name"),
		Clients: []topology.ClientSpec{{Name: "internet", Gateway: set(netip.MustParseAddr("192.168.0.1")),
			Routes: []topology.RouteSpec{{To: netip.MustParsePrefix("10.96.0.0/16"), Via: netip.MustParseAddr("192.168.0.11"), Origin: at(6)}},
			Ports:  []topology.PortSpec{{Name: "http", Port: set(80), Origin: at(7)}}, Origin: at(5)}},
		Namespaces: []topology.NamespaceSpec{{Name: "shop", Origin: at(8)}},
		Pods: []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2"),
			edit(pod("web", 2, "node2"), func(p *topology.PodSpec) { p.Namespace = set("shop") }),
			edit(pod("dns", 0, "node1"), func(p *topology.PodSpec) {
				p.HostNetwork = set(true)
				p.Ports = []topology.PortSpec{{Name: "dns", Port: set(53), Protocol: set("udp"), Origin: at(9)}}
			})},
		Services: []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) {
			s.Type, s.Ports[0].NodePort = set("NodePort"), set(30080)
		})},
	},
}, {
	name: "policies",
	about: `One node has every kind of answer: no endpoints (refused), none local (dropped),
a terminating one as the fallback, one that is not ready. Masquerade all, no node
ports on loopback, tunnels only where direct routes do not reach.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{VXLAN: topology.VXLANSpec{DirectRouting: set(true), VNI: set(7), Origin: at(2)}, Origin: at(1)},
		Proxy: topology.ProxySpec{MasqueradeAll: set(true), LocalNodePorts: set(false),
			NodePortAddresses: set([]netip.Prefix{netip.MustParsePrefix("192.168.0.0/24"), netip.MustParsePrefix("127.0.0.0/8")}), Origin: at(3)},
		Nodes: nodes("node1", "node2"),
		Pods: []topology.PodSpec{pod("web", 0, "node1"),
			edit(pod("web", 1, "node2"), func(p *topology.PodSpec) { p.Terminating = set(true) }),
			edit(pod("web", 2, "node2"), func(p *topology.PodSpec) { p.Ready = set(false) })},
		Services: []topology.ServiceSpec{
			service("empty", func(s *topology.ServiceSpec) {
				s.Selector = map[string]string{"app": "none"}
				s.Type, s.Ports[0].NodePort = set("NodePort"), set(30001)
			}),
			service("internal", func(s *topology.ServiceSpec) { s.InternalTrafficPolicy = set("Local") }),
			service("external", func(s *topology.ServiceSpec) {
				s.Type, s.ExternalTrafficPolicy, s.Ports[0].NodePort = set("NodePort"), set("Local"), set(30002)
			}),
			service("headless", func(s *topology.ServiceSpec) { s.ClusterIP = set("None") }),
		},
	},
}, {
	name: "dual-stack",
	about: `Both IP families: every address, route, tunnel and table twice.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{
			PodCIDRs:     set([]netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:10:244::/56")}),
			ServiceCIDRs: set([]netip.Prefix{netip.MustParsePrefix("10.96.0.0/16"), netip.MustParsePrefix("fd00:10:96::/112")}),
			NodeCIDRs:    set([]netip.Prefix{netip.MustParsePrefix("192.168.0.0/24"), netip.MustParsePrefix("fd00:192:168::/64")}),
			Origin:       at(1)},
		Nodes: nodes("node1", "node2"),
		Pods:  []topology.PodSpec{pod("web", 0, "node1")},
		Services: []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) {
			s.Type, s.Ports[0].NodePort, s.IPFamilyPolicy = set("NodePort"), set(30080), set("RequireDualStack")
		}), service("empty", func(s *topology.ServiceSpec) {
			s.Selector, s.IPFamilyPolicy = map[string]string{"app": "none"}, set("RequireDualStack")
		})},
	},
}, {
	name: "load-balancer",
	about: `Everything external: load balancer addresses, some via two nodes; external
addresses; a health check; session affinity; UDP and SCTP. Pods keep their address
towards nodes.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw"), MasqueradeNodeTraffic: set(false), Origin: at(1)},
		Proxy:   topology.ProxySpec{DetectLocal: set("cluster_cidr"), Origin: at(3)},
		Nodes:   nodes("node1", "node2"),
		Clients: []topology.ClientSpec{{Name: "laptop", Origin: at(5)}},
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
		Services: []topology.ServiceSpec{balanced("local", func(s *topology.ServiceSpec) {
			s.ExternalTrafficPolicy, s.HealthCheckNodePort = set("Local"), set(32000)
			s.SessionAffinity, s.AffinitySeconds = set("ClientIP"), set(600)
		}), balanced("ranges", func(s *topology.ServiceSpec) {
			s.SourceRanges = set([]string{"192.168.0.0/24", " 10.0.0.0/8 "})
			s.ExternalIPs = set([]netip.Addr{netip.MustParseAddr("203.0.113.7")})
			s.Ports[0].Protocol, s.Ports[0].NodePort = set("udp"), set(30053)
		})},
	},
}, {
	name: "legacy",
	about: `The layout of older versions of kube-proxy: the same services as in load-balancer.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw"), Origin: at(1)},
		Proxy:   topology.ProxySpec{Layout: set("legacy"), Origin: at(3)},
		Nodes:   nodes("node1", "node2"),
		Clients: []topology.ClientSpec{{Name: "laptop", Origin: at(5)}},
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
		Services: []topology.ServiceSpec{balanced("local", func(s *topology.ServiceSpec) {
			s.ExternalTrafficPolicy, s.InternalTrafficPolicy = set("Local"), set("Local")
			s.Ports[0].NodePort, s.Ports[0].Name = set(30080), ""
		}), balanced("ranges", func(s *topology.ServiceSpec) {
			s.SourceRanges = set([]string{"192.168.0.0/24"})
			s.ExternalIPs = set([]netip.Addr{netip.MustParseAddr("203.0.113.7")})
			s.Ports[0].NodePort = set(30081)
		})},
	},
}, {
	name: "ipvs",
	about: `Proxy mode ipvs, strict ARP: every kind of address, both policies, source ranges,
affinity, weights, and a service without endpoints.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw"), Origin: at(1)},
		Proxy: topology.ProxySpec{Mode: set("ipvs"), Origin: at(3),
			IPVS: topology.IPVSSpec{Scheduler: set("wrr"), StrictARP: set(true), Origin: at(4)}},
		Nodes:   nodes("node1", "node2"),
		Clients: []topology.ClientSpec{{Name: "laptop", Origin: at(5)}},
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
		Services: []topology.ServiceSpec{balanced("local", func(s *topology.ServiceSpec) {
			s.ExternalTrafficPolicy, s.InternalTrafficPolicy = set("Local"), set("Local")
			s.Ports[0].NodePort = set(30080)
			s.ExternalIPs = set([]netip.Addr{netip.MustParseAddr("203.0.113.6")})
		}), balanced("ranges", func(s *topology.ServiceSpec) {
			s.SourceRanges, s.SessionAffinity = set([]string{"192.168.0.128/25"}), set("ClientIP")
			s.ExternalIPs = set([]netip.Addr{netip.MustParseAddr("203.0.113.7")})
			s.Ports[0].NodePort = set(30081)
		}), service("weighted", func(s *topology.ServiceSpec) {
			s.Selector = nil
			s.Endpoints = []topology.EndpointSpec{{Pod: set("web-0"), Weight: set(3), Origin: at(50)}, {Pod: set("web-1"), Weight: set(0), Origin: at(51)}}
		}), service("empty", func(s *topology.ServiceSpec) { s.Selector = map[string]string{"app": "none"} })},
	},
}, {
	name: "ipvs-dual-stack",
	about: `Proxy mode ipvs in both IP families, addresses as local routes, SCTP.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw"), Origin: at(1),
			PodCIDRs: set([]netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:10:244::/56")})},
		Proxy: topology.ProxySpec{Mode: set("ipvs"), DetectLocal: set("none"), Origin: at(3),
			IPVS: topology.IPVSSpec{Scheduler: set("mh"), Addresses: set("local_routes"), Origin: at(4)}},
		Nodes: nodes("node1"),
		Pods:  []topology.PodSpec{pod("web", 0, "node1")},
		Services: []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) {
			s.IPFamilyPolicy, s.Type = set("RequireDualStack"), set("NodePort")
			s.Ports[0].NodePort = set(30080)
			s.Ports = append(s.Ports, topology.ServicePortSpec{Name: "sctp", Port: set(9), TargetPort: set("8080"), Protocol: set("sctp"), NodePort: set(30009), Origin: at(32)})
		})},
	},
}, {
	name: "kube-router-policies",
	about: `Policy style kube-router: the same policies as in nftables-policies, as a chain per
pod and two per policy, with ipsets and a mark.
`,
	spec: guarded("kube-router"),
}, {
	name: "calico-policies",
	about: `Policy style calico: the same policies as in nftables-policies, as two chains per pod
behind a dispatch chain, with accept and pass marks. With IPVS and egress enforced
towards the node, services are exempt at INPUT and filtered at OUTPUT.
`,
	spec: edit(guarded("calico"), func(s *topology.Spec) {
		s.Proxy = topology.ProxySpec{Mode: set("ipvs"), Origin: at(3)}
		s.PolicyOptions.HostEgress = set("enforce")
		s.Services = []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) { s.Type, s.Ports[0].NodePort = set("NodePort"), set(30080) })}
	}),
}, {
	name: "nftables-policies",
	about: `Policy style nftables: rules with pods, blocks and named ports in both directions, an
Admin tier that passes and denies, a Baseline tier. Denied packets are rejected.
`,
	spec: guarded("nftables"),
}, {
	name: "legacy-policies",
	about: `Policy style legacy: the network policy of nftables-policies, as one chain that jumps,
one that allows and a rule per pair of addresses. It cannot express cluster policies.
`,
	spec: edit(guarded("legacy"), func(s *topology.Spec) { s.ClusterPolicies = nil }),
}, {
	name: "no-proxy",
	about: `No proxy: only the pod network is programmed.
`,
	spec: topology.Spec{
		Proxy: topology.ProxySpec{Mode: set("none"), Origin: at(3)},
		Nodes: nodes("node1"),
		Pods: []topology.PodSpec{edit(pod("run", 0, "node1"), func(p *topology.PodSpec) {
			p.Ports, p.Command, p.Env = nil, []string{"nc", "-l", "it's"}, map[string]string{"B": "2", "A": "x y"}
		})},
		Services: []topology.ServiceSpec{service("web", func(*topology.ServiceSpec) {})},
	},
}, {
	name: "pod-network-none",
	about: `Mode none: no node has a route to the pods of another, except for a static route on
node1. The service has an endpoint on each node.

              node1 (web-0) ---+--- node2 (web-1)
                               |
                             laptop
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("none"), Origin: at(1)},
		Nodes: edit(nodes("node1", "node2"), func(n *[]topology.NodeSpec) {
			(*n)[0].Routes = []topology.RouteSpec{{To: netip.MustParsePrefix("10.244.2.0/24"), Via: netip.MustParseAddr("192.168.0.12"), Origin: at(12)}}
		}),
		Clients: []topology.ClientSpec{{Name: "laptop", Origin: at(5)}},
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
		Services: []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) {
			s.Type, s.Ports[0].NodePort = set("NodePort"), set(30080)
		})},
	},
}}

func at(line int) topology.Origin { return topology.Origin{File: "lab.hcl", Line: line, Column: 1} }

func set[T any](v T) topology.Opt[T] { return topology.Opt[T]{Value: v, Set: true} }

func edit[T any](v T, f func(*T)) T { f(&v); return v }

func nodes(names ...string) []topology.NodeSpec {
	var list []topology.NodeSpec
	for i, name := range names {
		list = append(list, topology.NodeSpec{Name: name, Origin: at(10 + i)})
	}
	return list
}

// pod returns an instance of a pod block that answers on port 8080, name http.
func pod(block string, index int, node string) topology.PodSpec {
	return topology.PodSpec{Block: block, Key: strconv.Itoa(index), Index: index, Node: set(node),
		Labels: map[string]string{"app": block},
		Ports:  []topology.PortSpec{{Name: "http", Port: set(8080), Origin: at(21)}}, Origin: at(20)}
}

// service returns a service for the pods named web: port 80 to their port http.
func service(name string, f func(*topology.ServiceSpec)) topology.ServiceSpec {
	return edit(topology.ServiceSpec{Name: name, Selector: map[string]string{"app": "web"},
		Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80), TargetPort: set("http"), Origin: at(31)}}, Origin: at(30)}, f)
}

// balanced returns a service of type LoadBalancer via both nodes, for the pods named
// web.
func balanced(name string, f func(*topology.ServiceSpec)) topology.ServiceSpec {
	return service(name, func(s *topology.ServiceSpec) {
		s.Type, s.LoadBalancerVia = set("LoadBalancer"), set([]string{"node1", "node2"})
		s.Ports[0].TargetPort = set("8080")
		f(s)
	})
}

func resolved(t testing.TB, spec topology.Spec) *topology.Lab {
	t.Helper()
	lab, problems := resolve.Lab(&spec, datapath.Catalogue())
	for _, p := range problems {
		if !p.Warning {
			t.Fatalf("%s: %s", p.Summary, p.Detail)
		}
	}
	return lab
}

func compile(t testing.TB, spec topology.Spec) *plan.Plan {
	t.Helper()
	p, err := datapath.Compile(resolved(t, spec))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
