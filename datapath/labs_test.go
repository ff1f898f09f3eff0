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
		Proxy:   topology.ProxySpec{Layouts: layouts("iptables", "legacy"), Origin: at(3)},
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
	name: "nftables",
	about: `Proxy mode nftables in both IP families: every kind of address, both policies, source ranges,
affinity, and a service without endpoints.
`,
	spec: mapped("kube-proxy"),
}, {
	name: "nftables-flat",
	about: `The same in the layout flat: services and endpoints as elements of a few maps.
`,
	spec: mapped("flat"),
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
	name: "userspace",
	about: `Proxy mode userspace in both IP families: every kind of address, affinity, UDP, and a
service without endpoints.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw"), Origin: at(1),
			PodCIDRs: set([]netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:10:244::/56")})},
		Proxy:   topology.ProxySpec{Mode: set("userspace"), Origin: at(3)},
		Nodes:   nodes("node1", "node2"),
		Clients: []topology.ClientSpec{{Name: "laptop", Origin: at(5)}},
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
		Services: []topology.ServiceSpec{balanced("web", func(s *topology.ServiceSpec) {
			s.SessionAffinity, s.Ports[0].NodePort = set("ClientIP"), set(30080)
			s.ExternalIPs = set([]netip.Addr{netip.MustParseAddr("203.0.113.6")})
		}), service("dual", func(s *topology.ServiceSpec) {
			s.IPFamilyPolicy = set("RequireDualStack")
			s.Ports = append(s.Ports, topology.ServicePortSpec{Name: "dns", Port: set(53), TargetPort: set("8080"), Protocol: set("udp"), Origin: at(32)})
		}), service("empty", func(s *topology.ServiceSpec) { s.Selector = map[string]string{"app": "none"} })},
	},
}, {
	name: "userspace-routed",
	about: `Proxy mode userspace where the links of pods have no address: the proxy listens on the
node's own.
`,
	spec: topology.Spec{
		Network:  topology.NetworkSpec{Mode: set("routed"), Origin: at(1)},
		Proxy:    topology.ProxySpec{Mode: set("userspace"), Origin: at(3)},
		Nodes:    nodes("node1"),
		Pods:     []topology.PodSpec{pod("web", 0, "node1")},
		Services: []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) { s.Type, s.Ports[0].NodePort = set("NodePort"), set(30080) })},
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
	name: "none-policies",
	about: `Policy style none: the policies of nftables-policies, and no rule for any of them.
`,
	spec: guarded("none"),
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
	name: "routed",
	about: `Mode routed, both IP families: a link and routes per pod, blocks of other nodes by
bird, masquerade by sets. Pods keep their address towards nodes.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("routed"), Families: set("dual"), MasqueradeNodeTraffic: set(false), Origin: at(1)},
		Nodes:   nodes("node1", "node2"),
		Pods: []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node1"),
			edit(pod("db", 0, "node2"), func(p *topology.PodSpec) { p.Namespace = set("shop") })},
		Namespaces: []topology.NamespaceSpec{{Name: "shop", Origin: at(8)}},
		Services:   []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) { s.IPFamilyPolicy = set("RequireDualStack") })},
	},
}, {
	name: "ipip",
	about: `Mode ipip: as routed, with tunl0 towards other nodes; IPv6 without it.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("ipip"), Families: set("dual"), Origin: at(1)},
		Proxy:   topology.ProxySpec{Mode: set("none"), Origin: at(3)},
		Nodes:   nodes("node1", "node2"),
		Pods:    []topology.PodSpec{pod("web", 0, "node1")},
	},
}, {
	name: "bgp",
	about: `Mode ipip with BGP: n1 reflects routes; n3 is behind a router, which speaks BGP, too.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("ipip"), Families: set("dual"), IPIP: topology.IPIPSpec{Mode: set("CrossSubnet")},
			BGP: topology.BGPSpec{Written: true, Reflectors: set([]string{"n1"}), Origin: at(2)}, Origin: at(1)},
		Proxy:   topology.ProxySpec{Mode: set("none"), Origin: at(3)},
		Subnets: []topology.SubnetSpec{{Name: "b", Origin: at(4)}},
		Routers: []topology.RouterSpec{{Name: "tor", BGP: topology.BGPSpec{Written: true, AS: set(64513), Origin: at(7)}, Origin: at(5),
			Links: []topology.RouterLinkSpec{{Name: "a", Origin: at(5)}, {Name: "b", Subnet: set("b"), Origin: at(6)}}}},
		Nodes: append(nodes("n1", "n2"), topology.NodeSpec{Name: "n3", Subnet: set("b"), Origin: at(16)}),
		Pods:  []topology.PodSpec{pod("web", 0, "n1")},
	},
}, {
	name: "canal",
	about: `Mode canal: flannel's tunnels and masquerading, Calico's links and policies.
`,
	spec: edit(guarded(""), func(s *topology.Spec) {
		s.PolicyOptions.Style = topology.Opt[string]{}
		s.Network = topology.NetworkSpec{Mode: set("canal"), Origin: at(1)}
	}),
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
}, {
	name: "bridge",
	about: `Mode bridge: docker0 on each node, the same addresses on both, published ports.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("bridge"), Origin: at(1)},
		Nodes:   nodes("node1", "node2"),
		Pods: []topology.PodSpec{edit(pod("web", 0, "node1"), func(p *topology.PodSpec) { p.Ports[0].HostPort = set(80) }),
			pod("web", 1, "node1"), pod("web", 2, "node2"),
			edit(pod("dns", 0, "node2"), func(p *topology.PodSpec) {
				p.Ports[0] = topology.PortSpec{Name: "dns", Port: set(53), Protocol: set("udp"), HostPort: set(5353), Origin: at(22)}
			})},
	},
}, {
	name: "docker-beside",
	about: `Mode host-gw beside Docker: docker0 without containers, the same address on both nodes,
and the rules of its daemon between those of kube-proxy and flannel.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw"), Docker: set(true), Origin: at(1)},
		Nodes:   nodes("node1", "node2"),
		Pods:    []topology.PodSpec{pod("web", 0, "node1")},
		Services: []topology.ServiceSpec{
			service("web", func(s *topology.ServiceSpec) { s.Type = set("NodePort") })},
	},
}, {
	name: "host-ports",
	about: `Mode host-gw, both IP families: host ports of two pods by the rules of portmap.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw"), Families: set("dual"), Origin: at(1)},
		Proxy:   topology.ProxySpec{Mode: set("none"), Origin: at(3)},
		Nodes:   nodes("node1", "node2"),
		Pods: []topology.PodSpec{edit(pod("web", 0, "node1"), func(p *topology.PodSpec) {
			p.Ports[0].HostPort = set(80)
			p.Ports = append(p.Ports, topology.PortSpec{Name: "dns", Port: set(5353), Protocol: set("udp"), HostPort: set(53), Origin: at(22)})
		}), edit(pod("web", 1, "node1"), func(p *topology.PodSpec) { p.Ports[0].HostPort = set(81) })},
	},
}, {
	name: "udp",
	about: `Mode udp with both IP families: a TUN device and a program per node. The link of
node2 is narrower.

              node1 (web-0) ---+--- node2 (web-1)
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("udp"), Families: set("dual"), Origin: at(1)},
		Nodes:   edit(nodes("node1", "node2"), func(n *[]topology.NodeSpec) { (*n)[1].Link.MTU = set(1400) }),
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
	},
}, {
	name: "encrypted",
	about: `Mode encrypted, on nodes that have IPv6 only.

              node1 (web-0) ---+--- node2 (web-1)
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("encrypted"), Families: set("ipv6"), Secret: set("sixteen bytes 'x'"), Origin: at(1)},
		Nodes:   nodes("node1", "node2"),
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
	},
}, {
	name: "wireguard",
	about: `Mode wireguard, dual stack. node2 has a key of its own, and a smaller MTU.

              node1 (web-0) ---+--- node2 (web-1)
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("wireguard"), Families: set("dual"), Origin: at(1)},
		Nodes: edit(nodes("node1", "node2"), func(n *[]topology.NodeSpec) {
			(*n)[1].Key, (*n)[1].Link.MTU = set("eJ0qSe1V6AMg0ed8tHbB0VYaxcqDP5hOrbVUrFXkeVI="), set(1400)
		}),
		Pods: []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
	},
}, {
	name: "ipsec",
	about: `Mode ipsec, dual stack.

              node1 (web-0) ---+--- node2 (web-1)
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("ipsec"), Families: set("dual"), Origin: at(1)},
		Nodes:   nodes("node1", "node2"),
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
	},
}, {
	name: "subnets",
	about: `Mode vxlan with direct routing over two subnets, joined by two routers: one of
them narrow, slow and a firewall. Dual stack.

              node1, node2 ---+--- r1 ---+--- node3
              subnet default  +--- r2 ---+    laptop, subnet b
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Families: set("dual"), VXLAN: topology.VXLANSpec{DirectRouting: set(true), Origin: at(2)}, Origin: at(1)},
		Subnets: []topology.SubnetSpec{{Name: "b", CIDRs: set([]netip.Prefix{netip.MustParsePrefix("192.168.7.0/24"), netip.MustParsePrefix("fd00:192:168:7::/64")}), MTU: set(1450), Origin: at(3)}},
		Routers: []topology.RouterSpec{
			{Name: "r1", ReversePath: set(true), Links: []topology.RouterLinkSpec{{Name: "left", Origin: at(5)}, {Name: "right", Subnet: set("b"), Origin: at(6)}}, Origin: at(4),
				Routes: []topology.RouteSpec{{To: netip.MustParsePrefix("10.244.1.0/24"), Via: netip.MustParseAddr("192.168.0.11"), Origin: at(7)}},
				Drops: []topology.DropSpec{{Protocol: set("icmp"), Origin: at(8)},
					{Protocol: set("tcp"), Port: set(22), From: set([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}), Origin: at(9)}}},
			{Name: "r2", Links: []topology.RouterLinkSpec{{Name: "eth0", Origin: at(11)},
				{Name: "eth1", Subnet: set("b"), Address: set(netip.MustParseAddr("192.168.7.7")), Link: topology.LinkSpec{MTU: set(1400), Rate: set(uint64(1e7)), Origin: at(12)}, Origin: at(12)}}, Origin: at(10)},
		},
		Nodes:   append(nodes("node1", "node2"), topology.NodeSpec{Name: "node3", Subnet: set("b"), Origin: at(13)}),
		Clients: []topology.ClientSpec{{Name: "laptop", Subnet: set("b"), Origin: at(14)}},
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node3")},
		Services: []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) {
			s.Type, s.LoadBalancerIPs, s.LoadBalancerVia = set("LoadBalancer"), set([]netip.Addr{netip.MustParseAddr("203.0.113.1")}), set([]string{"node1", "node2"})
			s.Ports[0].NodePort = set(31380)
		})},
	},
}, {
	name: "ingress",
	about: `An ingress controller on node1, behind a NodePort service of policy Local and
the PROXY protocol: the routes are part of its namespace.
`,
	spec: topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw"), Origin: at(1)},
		Nodes:   nodes("node1", "node2"),
		Clients: []topology.ClientSpec{{Name: "laptop", Origin: at(5)}},
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
		Services: []topology.ServiceSpec{service("web", func(*topology.ServiceSpec) {}),
			service("empty", func(s *topology.ServiceSpec) { s.Selector = map[string]string{"app": "none"} })},
		Controller: topology.ControllerSpec{Written: true, Nodes: set([]string{"node1"}), ProxyProtocol: set(true), Origin: at(6),
			Service: topology.ServiceSpec{Type: set("NodePort"), ExternalTrafficPolicy: set("Local"), Origin: at(7)}},
		Ingresses: []topology.IngressSpec{{Name: "shop", Default: &topology.BackendSpec{Service: set("web"), Origin: at(42)},
			Rules: []topology.IngressRuleSpec{{Host: set("*.shop.example"), Origin: at(43), Paths: []topology.IngressPathSpec{
				{Path: set("/api"), Type: set("Exact"), Backend: topology.BackendSpec{Service: set("web"), Port: set("http")}, Origin: at(44)},
				{Path: set("/sold-out"), Backend: topology.BackendSpec{Service: set("empty"), Port: set("80")}, Origin: at(45)}}}},
			TLS: []topology.IngressTLSSpec{{Hosts: set([]string{"*.shop.example"}), Origin: at(46)}}, Origin: at(41)}},
	},
}, {
	name: "agents",
	about: `Agents on every node do the work of the proxy, a kube-proxy, and of the policies: there is no
rule for either, only programs.
`,
	spec: topology.Spec{
		Proxy: topology.ProxySpec{Mode: set("exec"), MasqueradeAll: set(true), LocalNodePorts: set(false), Origin: at(1),
			NodePortAddresses: set([]netip.Prefix{netip.MustParsePrefix("192.168.0.0/24")}),
			Agent: topology.AgentSpec{Command: topology.Opt[bool]{Value: true, Set: true, Origin: at(2)}, Env: map[string]string{"GOGC": "50"},
				Commands: map[string][]string{"node1": {"kube-proxy", "--v=2"}, "node2": {"kube-proxy", "--v=4"}}}},
		PolicyOptions: topology.PoliciesSpec{Style: set("exec"), Origin: at(3),
			Agent: topology.AgentSpec{Command: topology.Opt[bool]{Value: true, Set: true, Origin: at(4)},
				Commands: map[string][]string{"node1": {"guard", "node1"}, "node2": {"guard", "node2"}},
				Program:  topology.ProgramSpec{Restart: set("always"), Files: []topology.FileSpec{{Path: "/etc/guard", Content: set("all"), Origin: at(5)}}}}},
		Nodes:    nodes("node1", "node2"),
		Pods:     []topology.PodSpec{pod("web", 0, "node1")},
		Services: []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) { s.Type = set("NodePort") })},
		Policies: []topology.PolicySpec{{Name: "web", PodSelector: topology.SelectorSpec{Set: true}, Origin: at(40)}},
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

func layouts(mode, layout string) map[string]*topology.Opt[string] {
	o := set(layout)
	return map[string]*topology.Opt[string]{mode: &o}
}

// mapped is a lab of proxy mode nftables.
func mapped(layout string) topology.Spec {
	return topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw"), Families: set("dual"), Origin: at(1)},
		Proxy:   topology.ProxySpec{Mode: set("nftables"), Layouts: layouts("nftables", layout), Origin: at(3)},
		Nodes:   nodes("node1", "node2"),
		Clients: []topology.ClientSpec{{Name: "laptop", Origin: at(5)}},
		Pods:    []topology.PodSpec{pod("web", 0, "node1"), pod("web", 1, "node2")},
		Services: []topology.ServiceSpec{balanced("local", func(s *topology.ServiceSpec) {
			s.ExternalTrafficPolicy, s.InternalTrafficPolicy = set("Local"), set("Local")
			s.Ports[0].NodePort = set(30080)
			s.ExternalIPs = set([]netip.Addr{netip.MustParseAddr("203.0.113.6")})
		}), balanced("ranges", func(s *topology.ServiceSpec) {
			s.SourceRanges, s.SessionAffinity = set([]string{"192.168.0.0/25", "203.0.113.0/24"}), set("ClientIP")
			s.ExternalIPs = set([]netip.Addr{netip.MustParseAddr("203.0.113.7")})
			s.Ports[0].NodePort = set(30081)
		}), service("dual", func(s *topology.ServiceSpec) { s.IPFamilyPolicy = set("RequireDualStack") }),
			service("empty", func(s *topology.ServiceSpec) { s.Selector = map[string]string{"app": "none"} })},
	}
}
