package podnet

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// RoutesTo returns the routes to the pods of a node that is on the same link: via the
// node's own address, one per family.
func RoutesTo(remote *topology.Node) []plan.Route {
	var routes []plan.Route
	for _, cidr := range remote.PodCIDRs {
		if via, ok := AddrOf(remote, cidr.Addr().Is6()); ok {
			routes = append(routes, plan.Route{To: cidr, Via: via, Dev: Uplink, Origin: NodeOrigin(remote)})
		}
	}
	return routes
}

// AddrOf is the node's address of one family on the underlay.
func AddrOf(n *topology.Node, ipv6 bool) (netip.Addr, bool) {
	for _, a := range n.Addrs {
		if a.Is6() == ipv6 {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// keepFirstRoutes drops all routes but the first to each destination: those that
// the scenario writes come before those of the mode.
func keepFirstRoutes(n *plan.Netns) {
	seen := map[netip.Prefix]bool{}
	n.Routes = slices.DeleteFunc(n.Routes, func(r plan.Route) bool {
		known := seen[r.To]
		seen[r.To] = true
		return known
	})
}
