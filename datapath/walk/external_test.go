package walk_test

import (
	"net/netip"

	"github.com/netlab/netlab/topology"
)

// balancers is the lab of most tests of services with external addresses: 172.20.0.1
// spread over all endpoints, .2 with policy Local, .3 without endpoints, .4 for the
// laptop only; the laptop reaches them through node 1. Service sticky has session
// affinity.
func balancers() topology.Spec {
	address := func(i string) topology.Opt[[]netip.Addr] {
		return set([]netip.Addr{netip.MustParseAddr("172.20.0." + i)})
	}
	balanced := func(name, label, value, ip string, f func(*topology.ServiceSpec)) topology.ServiceSpec {
		return service(name, label, value, func(s *topology.ServiceSpec) {
			s.Type, s.LoadBalancerIPs, s.LoadBalancerVia = set("LoadBalancer"), address(ip), set([]string{"node1"})
			f(s)
		})
	}
	return edit(threeNodes("host-gw"), func(s *topology.Spec) {
		s.Network.LoadBalancerCIDRs = set(prefixes("172.20.0.0/24"))
		s.Services = []topology.ServiceSpec{
			balanced("cluster", "app", "web", "1", func(*topology.ServiceSpec) {}),
			balanced("local", "app", "web", "2", func(s *topology.ServiceSpec) { s.ExternalTrafficPolicy = set("Local") }),
			balanced("empty", "app", "none", "3", func(*topology.ServiceSpec) {}),
			balanced("guarded", "side", "a", "4", func(s *topology.ServiceSpec) { s.SourceRanges = set([]string{"192.168.0.215/32"}) }),
			service("outside", "side", "a", func(s *topology.ServiceSpec) { s.ExternalIPs = set([]netip.Addr{netip.MustParseAddr("172.21.0.1")}) }),
			service("sticky", "app", "web", func(s *topology.ServiceSpec) { s.SessionAffinity = set("ClientIP") }),
		}
	})
}

func balancerCells() []cell {
	return []cell{
		{"laptop", "172.20.0.1:80", "a-0 from node1/cni0, a-1 from node1/cni0, b-0 from node1"},
		{"laptop", "172.20.0.2:80", "a-0 from laptop, a-1 from laptop"},
		{"laptop", "172.20.0.3:80", "refused"},
		{"laptop", "172.20.0.4:80", "a-0 from node1/cni0, a-1 from node1/cni0"},
		{"shell-3", "172.20.0.1:80", "a-0 from node3, a-1 from node3, b-0 from node3"}, // short-circuited on its own node
		{"shell-3", "172.20.0.2:80", everyone},
		{"shell-3", "172.20.0.3:80", "refused"},
		{"shell-3", "172.20.0.4:80", "timeout"}, // not in the range
		{"node3", "172.20.0.1:80", "a-0 from node3, a-1 from node3, b-0 from node3"},
		{"node3", "172.20.0.2:80", "a-0 from node3, a-1 from node3, b-0 from node3"},
		// No rule rejects what the host itself sends to an external address; it leaves
		// by the default route.
		{"node3", "172.20.0.3:80", "timeout"},
		{"shell-1", "172.21.0.1:80", "a-0 from node1/cni0, a-1 from node1/cni0"},
		{"node2", "172.21.0.1:80", "a-0 from node2, a-1 from node2"},
	}
}
