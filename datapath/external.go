package datapath

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// addExternalRoutes gives clients routes to the load balancer and external addresses of
// services, as a load balancer or a router would announce them outside. Several nodes
// share the connections. Inside the cluster no routes are needed: nodes translate those
// addresses before the route lookup.
//
// A load balancer in mode Proxy answers at its address itself, so there is no route to
// it. Routes that the scenario gives a client take precedence, also where they only cover
// the address.
func addExternalRoutes(lab *topology.Lab, netns map[string]*plan.Netns) {
	var routes []plan.Route
	for _, svc := range lab.Services {
		o := plan.Origin{Object: "service " + svc.Namespace + "/" + svc.Name, File: svc.Origin.File, Line: svc.Origin.Line}
		for _, a := range announced(svc) {
			if r, ok := routeVia(svc.Via, a); ok {
				r.Origin = o
				routes = append(routes, r)
			}
		}
	}
	for _, c := range lab.Clients {
		addRoutes(netns[c.Netns()], slices.DeleteFunc(slices.Clone(routes), func(r plan.Route) bool { return c.Routed(r.To.Addr()) }))
	}
}

// announced are the addresses of a service that are routed to nodes outside.
func announced(svc *topology.Service) []netip.Addr {
	list := append([]netip.Addr{}, svc.ExternalIPs...)
	for _, lb := range svc.LoadBalancers {
		if !lb.Proxy {
			list = append(list, lb.Addr)
		}
	}
	return list
}

// routeVia is the route to an address via the nodes that have its family.
func routeVia(nodes []*topology.Node, to netip.Addr) (plan.Route, bool) {
	r := plan.Route{To: topology.Single(to), Dev: podnet.Uplink}
	for _, n := range nodes {
		via := topology.OfFamily(n.Addrs, to.Is6())
		switch {
		case !via.IsValid():
		case via == to:
			return r, false // an address of the node itself, which is on the link
		case !r.Via.IsValid():
			r.Via = via
		default:
			r.More = append(r.More, via)
		}
	}
	return r, r.Via.IsValid()
}

// addRoutes adds routes, except to destinations that already have one.
func addRoutes(n *plan.Netns, routes []plan.Route) {
	known := map[netip.Prefix]bool{}
	for _, r := range n.Routes {
		known[r.To] = true
	}
	for _, r := range routes {
		if !known[r.To] {
			known[r.To] = true
			n.Routes = append(n.Routes, r)
			if len(r.More) > 0 {
				addSysctl(n, spreading(r.To.Addr()), "1")
			}
		}
	}
}

// spreading is the sysctl that makes the kernel hash ports, too, when it chooses a next
// hop (ip-sysctl, fib_multipath_hash_policy): by addresses alone a client would always
// get the same one.
func spreading(to netip.Addr) string {
	if to.Is6() {
		return "net.ipv6.fib_multipath_hash_policy"
	}
	return "net.ipv4.fib_multipath_hash_policy"
}

// trustAddresses turns duplicate address detection off: Resolve gives each address to
// one link only, and link-local addresses come from MACs that are just as unique. With
// DAD, neighbours would be unreachable for the first one or two seconds of a lab (RFC
// 4862, section 5.4).
func trustAddresses(p *plan.Plan) {
	for i := range p.Netns {
		if n := &p.Netns[i]; n.IPv6 {
			addSysctl(n, "net.ipv6.conf.default.accept_dad", "0")
		}
	}
}

func addSysctl(n *plan.Netns, key, value string) {
	for _, s := range n.Sysctls {
		if s.Key == key {
			return
		}
	}
	n.Sysctls = append(n.Sysctls, plan.Sysctl{Key: key, Value: value})
}
