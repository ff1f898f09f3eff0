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
		if via := topology.OfFamily(remote.Addrs, cidr.Addr().Is6()); via.IsValid() {
			routes = append(routes, plan.Route{To: cidr, Via: via, Dev: Uplink, Origin: NodeOrigin(remote)})
		}
	}
	return routes
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
