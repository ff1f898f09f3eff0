package userspace

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// The chains: for packets that arrive at the node and for those of its own processes.
const (
	portalsContainer  = "KUBE-PORTALS-CONTAINER"
	portalsHost       = "KUBE-PORTALS-HOST"
	nodePortContainer = "KUBE-NODEPORT-CONTAINER"
	nodePortHost      = "KUBE-NODEPORT-HOST"
	nodePortNonLocal  = "KUBE-NODEPORT-NON-LOCAL"
)

// Backend is the proxy mode userspace.
func Backend() service.Backend {
	return service.Backend{Compile: compile, ProxyMode: topology.ProxyMode{
		Name:       "userspace",
		About:      "a program on each node accepts connections and makes others to endpoints",
		Limits:     "servers see the node's address; knows no traffic policies, source ranges, hints, health checks or SCTP",
		Translates: true, LoopbackNodePorts: true, UserSpace: true,
	}}
}

// compile returns the tables nat and filter of each IP family, and the proxy ports.
func compile(v service.View) plan.Netns {
	var out plan.Netns
	for _, cidr := range v.Lab.Network.PodCIDRs {
		c := newCompiler(v, cidr.Addr().Is6())
		c.hooks()
		for i := range v.Ports {
			if p := &v.Ports[i]; p.ClusterIP.Is6() == c.ipv6 && p.Port.ProxyPort != 0 {
				out.ProxyPorts = append(out.ProxyPorts, c.servicePort(p))
			}
		}
		out.Tables = append(out.Tables, c.nat.Table, c.filter.Table)
	}
	return out
}

// compiler gathers the rules of one node and one IP family.
type compiler struct {
	ipv6        bool
	host        netip.Addr // the node's own
	bound       bool       // the proxy listens on that alone
	proxy       plan.Origin
	nat, filter iptables.Builder
}

func newCompiler(v service.View, ipv6 bool) *compiler {
	return &compiler{
		ipv6: ipv6, bound: v.Lab.Network.Mode.PodRoutes, host: topology.OfFamily(v.Node.Addrs, ipv6),
		proxy: plan.Origin{Object: "proxy", File: v.Lab.Proxy.Origin.File, Line: v.Lab.Proxy.Origin.Line},
		nat:   iptables.NewBuilder("nat", ipv6, 0), filter: iptables.NewBuilder("filter", ipv6, 0),
	}
}

// hooks leads from the built-in chains to ours. Cluster IPs come first, since an address of a
// service may be the node's own.
func (c *compiler) hooks() {
	portals := iptables.Comment{Text: "handle ClusterIPs; NOTE: this must be before the NodePort rules"}
	ports := iptables.Comment{Text: "handle service NodePorts; NOTE: this must be the last rule in the chain"}
	toNode := iptables.AddrType{Dst: "LOCAL"}
	c.nat.Hook("PREROUTING", portalsContainer, c.proxy, portals)
	c.nat.Hook("PREROUTING", nodePortContainer, c.proxy, toNode, ports)
	c.nat.Hook("OUTPUT", portalsHost, c.proxy, portals)
	c.nat.Hook("OUTPUT", nodePortHost, c.proxy, toNode, ports)
	c.filter.Hook("INPUT", nodePortNonLocal, c.proxy, iptables.Comment{Text: "Ensure that non-local NodePort traffic can flow"})
}

// portCompiler adds the rules of one service port.
type portCompiler struct {
	*compiler
	*service.Port
	name string // default/web:http
	o    plan.Origin
}

// servicePort adds the rules of one service port, and returns its socket.
func (c *compiler) servicePort(p *service.Port) occupant.ProxyPort {
	pc := &portCompiler{compiler: c, Port: p, name: p.Name(), o: p.Origin()}
	pc.portal(p.ClusterIP)
	for _, a := range p.ExternalIPs {
		pc.externalPortal(a)
	}
	for _, lb := range p.Service.LoadBalancers { // whatever their mode
		if lb.Addr.Is6() == c.ipv6 {
			pc.portal(lb.Addr)
		}
	}
	if p.Port.NodePort != 0 {
		c.nat.Add(nodePortContainer, pc.o, pc.redirect(), pc.to(p.Port.NodePort)...)
		pc.fromHost(nodePortHost, pc.to(p.Port.NodePort))
		c.filter.Add(nodePortNonLocal, pc.o, iptables.Accept{}, append(pc.to(p.Port.ProxyPort), iptables.State{State: "NEW"})...)
	}
	return pc.socket()
}

// to matches a port, and an address if there is one.
func (pc *portCompiler) to(port uint16, addr ...netip.Addr) []iptables.Match {
	list := []iptables.Match{iptables.Comment{Text: pc.name}, iptables.Proto{Name: string(pc.Port.Port.Protocol)}, iptables.DPort{Port: port}}
	for _, a := range addr {
		list = append(list, iptables.Dst{Prefix: topology.Single(a)})
	}
	return list
}

// portal redirects what is for an address of the service.
func (pc *portCompiler) portal(a netip.Addr) {
	match := pc.to(pc.Port.Port.Port, a)
	pc.nat.Add(portalsContainer, pc.o, pc.redirect(), match...)
	pc.fromHost(portalsHost, match)
}

// externalPortal redirects what is for an external address, if it comes from outside or the
// node has that address.
func (pc *portCompiler) externalPortal(a netip.Addr) {
	own := append(pc.to(pc.Port.Port.Port, a), iptables.AddrType{Dst: "LOCAL"})
	pc.nat.Add(portalsContainer, pc.o, pc.redirect(), append(pc.to(pc.Port.Port.Port, a), iptables.PhysdevIsIn{Not: true})...)
	pc.nat.Add(portalsContainer, pc.o, pc.redirect(), own...)
	pc.fromHost(portalsHost, own)
}

// redirect is the target of rules for packets that arrive.
func (pc *portCompiler) redirect() iptables.Target {
	if pc.bound {
		return pc.toHost()
	}
	return iptables.Redirect{Port: pc.Port.Port.ProxyPort}
}

func (pc *portCompiler) toHost() iptables.Target {
	return iptables.DNAT{To: netip.AddrPortFrom(pc.host, pc.Port.Port.ProxyPort)}
}

func (pc *portCompiler) fromHost(chain string, match []iptables.Match) {
	pc.nat.Add(chain, pc.o, pc.toHost(), match...)
}

// socket is where the proxy listens. Its endpoints are those of an Endpoints object: ready,
// and in the order of their text.
func (pc *portCompiler) socket() occupant.ProxyPort {
	out := occupant.ProxyPort{Service: pc.name, Protocol: string(pc.Port.Port.Protocol), Affinity: pc.Service.AffinitySeconds, Origin: pc.o}
	addr := pc.host
	switch {
	case pc.bound:
	case pc.ipv6:
		addr = netip.IPv6Unspecified()
	default:
		addr = netip.IPv4Unspecified()
	}
	out.At = netip.AddrPortFrom(addr, pc.Port.Port.ProxyPort)
	for _, e := range pc.Ready() {
		out.Endpoints = append(out.Endpoints, e.Addr)
	}
	return out
}
