package service

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// View is what one node sees of the lab's services.
type View struct {
	Lab  *topology.Lab
	Node *topology.Node
	// Addrs are the addresses of the node on all its links, loopback included.
	Addrs []netip.Addr
	// Ports are the service ports by namespace, service and port name, in each
	// family of which their service has a cluster IP. Services without one have
	// none (headless, ExternalName), nor have those that another proxy serves.
	Ports []Port
}

// Port is one service port of one IP family, with the endpoints that one node uses
// for it.
type Port struct {
	Service   *topology.Service
	Port      *topology.ServicePort
	ClusterIP netip.Addr
	// ExternalIPs are the external addresses of the family.
	ExternalIPs []netip.Addr
	// VIPs are the load balancer addresses of the family for which packets reach
	// nodes: those of mode Proxy are not among them.
	VIPs []netip.Addr
	// SourceRanges are the clients that may use the VIPs; empty: all.
	SourceRanges []netip.Prefix
	// HealthCheckNodePort is where a load balancer asks whether to send traffic to
	// this node; 0: none.
	HealthCheckNodePort uint16
	// Known is how many endpoints there are, in whatever state.
	Known int
	// Cluster are the endpoints under traffic policy Cluster, Local those under
	// policy Local. Each is empty where neither policy needs it. They are
	// ordered as kube-proxy orders them: by the text of address and port.
	Cluster, Local []*topology.Endpoint
	// All are the endpoints of either list, in the same order.
	All []*topology.Endpoint
	// Any says that some endpoint is usable somewhere, on this node or not: without
	// one, packets are refused; with one, but none here under policy Local, dropped.
	Any bool
}

// NewView chooses the endpoints of every service port for one node.
func NewView(lab *topology.Lab, node *topology.Node, addrs []netip.Addr) View {
	v := View{Lab: lab, Node: node, Addrs: addrs}
	for _, svc := range lab.Services {
		// ExternalName is a name in DNS, even where a cluster IP was written.
		if svc.Unmanaged || svc.Type == topology.ExternalName {
			continue
		}
		for _, ip := range svc.ClusterIPs {
			for _, p := range svc.Ports {
				v.Ports = append(v.Ports, newPort(svc, p, ip, node))
			}
		}
	}
	slices.SortStableFunc(v.Ports, func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.Service.Namespace, b.Service.Namespace),
			cmp.Compare(a.Service.Name, b.Service.Name), cmp.Compare(a.Port.Name, b.Port.Name))
	})
	return v
}

// NodePortCIDRs returns the prefixes of a family whose addresses node ports answer on, or
// all.
func (v *View) NodePortCIDRs(ipv6 bool) (cidrs []netip.Prefix, all bool) {
	return v.Lab.Proxy.NodePortCIDRs(v.Node, ipv6)
}

// NodePortAddrs are the node's addresses of a family on which node ports answer, sorted: never
// loopback ones.
func (v *View) NodePortAddrs(ipv6 bool) []netip.Addr {
	cidrs, all := v.NodePortCIDRs(ipv6)
	var out []netip.Addr
	for _, a := range v.Addrs {
		inside := all || slices.ContainsFunc(cidrs, func(p netip.Prefix) bool { return p.Contains(a) })
		if a.Is6() == ipv6 && !a.IsLoopback() && inside {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// newPort gathers what a port has in the family of a cluster IP.
func newPort(svc *topology.Service, p *topology.ServicePort, ip netip.Addr, node *topology.Node) Port {
	out := Port{Service: svc, Port: p, ClusterIP: ip}
	inFamily := func(a netip.Addr) bool { return a.Is6() == ip.Is6() }
	for _, a := range svc.ExternalIPs {
		if inFamily(a) {
			out.ExternalIPs = append(out.ExternalIPs, a)
		}
	}
	for _, lb := range svc.LoadBalancers {
		if inFamily(lb.Addr) && !lb.Proxy {
			out.VIPs = append(out.VIPs, lb.Addr)
		}
	}
	for _, r := range svc.SourceRanges {
		if inFamily(r.Addr()) {
			out.SourceRanges = append(out.SourceRanges, r)
		}
	}
	if slices.ContainsFunc(out.SourceRanges, func(r netip.Prefix) bool { return r.Bits() == 0 }) {
		out.SourceRanges = nil
	}
	if svc.Type == topology.LoadBalancer && out.ExternalLocal() {
		out.HealthCheckNodePort = svc.HealthCheckNodePort
	}
	out.choose(node)
	return out
}

// Name names the port in comments: default/web:http, or default/web where it has no name.
func (p *Port) Name() string {
	name := p.Service.Namespace + "/" + p.Service.Name
	if p.Port.Name != "" {
		name += ":" + p.Port.Name
	}
	return name
}

// Admitted are the sources that may use the load balancer addresses, sorted and without those
// that others contain; empty: all may. Where the node itself may, so may these addresses: a node
// that has one bound uses it as the source of what it sends to it.
func (p *Port) Admitted(node *topology.Node) []netip.Prefix {
	list := slices.Clone(p.SourceRanges)
	self := topology.OfFamily(node.Addrs, p.ClusterIP.Is6())
	if slices.ContainsFunc(list, func(r netip.Prefix) bool { return self.IsValid() && r.Contains(self) }) {
		for _, a := range p.VIPs {
			list = append(list, topology.Single(a))
		}
	}
	slices.SortFunc(list, func(a, b netip.Prefix) int {
		return cmp.Or(a.Masked().Addr().Compare(b.Masked().Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	var out []netip.Prefix
	for _, r := range list {
		if len(out) == 0 || !out[len(out)-1].Overlaps(r) {
			out = append(out, r.Masked())
		}
	}
	return out
}

// InternalLocal reports whether the internal traffic policy is Local.
func (p *Port) InternalLocal() bool {
	return p.Service.InternalTrafficPolicy == topology.PolicyLocal
}

// ExternalLocal reports whether the external traffic policy is Local.
func (p *Port) ExternalLocal() bool {
	return p.Service.ExternalTrafficPolicy == topology.PolicyLocal
}

// External reports whether the port can be reached from outside the cluster. The
// external traffic policy of others has no effect.
func (p *Port) External() bool {
	return p.Port.NodePort != 0 || len(p.ExternalIPs) > 0 || len(p.VIPs) > 0
}

// UsesCluster reports whether the node needs the endpoints of the whole cluster.
// An external port does under either policy: under Local, pods and the node itself
// short-circuit it.
func (p *Port) UsesCluster() bool { return !p.InternalLocal() || p.External() }

// UsesLocal reports whether the node needs its own endpoints.
func (p *Port) UsesLocal() bool {
	return p.InternalLocal() || p.ExternalLocal() && p.External()
}

// Origin is the service, at the line of the port where that has one.
func (p *Port) Origin() plan.Origin {
	o := p.Port.Origin
	if o == (topology.Origin{}) {
		o = p.Service.Origin
	}
	return serviceOrigin(p.Service, o)
}

func serviceOrigin(svc *topology.Service, o topology.Origin) plan.Origin {
	return plan.Origin{Object: "service " + svc.Namespace + "/" + svc.Name, File: o.File, Line: o.Line}
}
