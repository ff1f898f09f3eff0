package datapath

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// addExternalRoutes gives clients and routers routes to the load balancer and external
// addresses of services, as a load balancer or a router would announce them outside: to the
// nearest nodes of those that announce them. Several nodes share the connections. Inside the cluster no routes are needed: nodes translate those
// addresses before the route lookup.
//
// A router needs none to the address of a host: it knows the subnets.
//
// A load balancer in mode Proxy answers at its address itself, so there is no route to
// it. Routes that the scenario gives a host take precedence, also where they only cover
// the address.
func addExternalRoutes(lab *topology.Lab, netns map[string]*plan.Netns) {
	for _, c := range lab.Clients {
		list := serviceRoutes(lab, []*topology.Subnet{c.Subnet}, podnet.Uplink)
		addRoutes(netns[c.Netns()], slices.DeleteFunc(list, func(r plan.Route) bool { return c.Routed(r.To.Addr()) }))
	}
	for _, r := range lab.Routers {
		var list []plan.Route
		for _, x := range serviceRoutes(lab, r.Subnets(), "") {
			i := slices.IndexFunc(r.Links, func(l *topology.RouterLink) bool { return l.Subnet.Has(x.Via) })
			if i >= 0 && !r.Routed(x.To.Addr()) && !lab.Owned(x.To.Addr()) {
				x.Dev = r.Links[i].Name
				list = append(list, x)
			}
		}
		addRoutes(netns[r.Netns()], list)
	}
	spread(netns)
}

// serviceRoutes are the routes of a host on some subnets to what is announced.
func serviceRoutes(lab *topology.Lab, own []*topology.Subnet, dev string) []plan.Route {
	var routes []plan.Route
	for _, svc := range lab.Services {
		o := plan.Origin{Object: "service " + svc.Namespace + "/" + svc.Name, File: svc.Origin.File, Line: svc.Origin.Line}
		for _, a := range announced(svc) {
			if via := lab.Via(own, svc.Via, a.Is6()); len(via) > 0 && !nodesOwn(svc.Via, a) {
				routes = append(routes, plan.Route{To: topology.Single(a), Dev: dev, Via: via[0], More: via[1:], Origin: o})
			}
		}
	}
	return routes
}

// nodesOwn reports whether an address is that of one of some nodes, to which there is a route.
func nodesOwn(nodes []*topology.Node, a netip.Addr) bool {
	return slices.ContainsFunc(nodes, func(n *topology.Node) bool { return slices.Contains(n.Addrs, a) })
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
		}
	}
}

// spread makes hosts with several next hops spread connections over them.
func spread(netns map[string]*plan.Netns) {
	for _, n := range netns {
		for _, r := range n.Routes {
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
