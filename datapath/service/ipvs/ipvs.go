package ipvs

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// Device is the dummy that holds the addresses of services.
const Device = "kube-ipvs0"

// Backend is the proxy mode ipvs.
func Backend() service.Backend {
	return service.Backend{Compile: compile, ProxyMode: topology.ProxyMode{
		Name:       "ipvs",
		About:      "a virtual server of the kernel per address and port",
		Limits:     "no node ports on 127.0.0.1; needs ip_vs, which most kernels refuse to user namespaces",
		Translates: true, VirtualServers: true,
	}}
}

// compile returns the addresses, virtual servers, sets, rules and settings of a node.
func compile(v service.View) plan.Netns {
	out := plan.Netns{Sysctls: sysctls(v.Lab.Proxy.IPVS.StrictARP)}
	proxy := plan.Origin{Object: "proxy", File: v.Lab.Proxy.Origin.File, Line: v.Lab.Proxy.Origin.Line}
	if v.Lab.Proxy.IPVS.Addresses != topology.AddressesRoutes {
		out.Links = []plan.Link{{Name: Device, Type: plan.Dummy, MTU: 1500, MAC: deviceMAC(v.Node), Origin: proxy}}
	}
	for _, cidr := range v.Lab.Network.PodCIDRs {
		c := newCompiler(v, cidr, proxy)
		for i := range v.Ports {
			if p := &v.Ports[i]; p.ClusterIP.Is6() == c.ipv6 {
				c.servicePort(p)
			}
		}
		c.rules()
		c.addTo(&out)
	}
	return out
}

// sysctls are kube-proxy's. It leaves conn_reuse_mode as it is since Linux 5.9
// (kubernetes issue 93297).
func sysctls(strictARP bool) []plan.Sysctl {
	list := []plan.Sysctl{
		// Rules could not masquerade what IPVS sends.
		{Key: "net.ipv4.vs.conntrack", Value: "1"},
		// A client of an endpoint that is gone is reset, instead of getting no answer.
		{Key: "net.ipv4.vs.expire_nodest_conn", Value: "1"},
		// Session affinity does not keep an endpoint of weight 0.
		{Key: "net.ipv4.vs.expire_quiescent_template", Value: "1"},
		{Key: "net.ipv4.ip_forward", Value: "1"},
	}
	if strictARP {
		// Every node has every service's address: without these, each answers ARP for it.
		list = append(list, plan.Sysctl{Key: "net.ipv4.conf.all.arp_ignore", Value: "1"},
			plan.Sysctl{Key: "net.ipv4.conf.all.arp_announce", Value: "2"})
	}
	return list
}

// deviceMAC is a MAC that no other device of the lab has. It never leaves the node.
func deviceMAC(n *topology.Node) [6]byte {
	mac := [6]byte(n.MAC)
	mac[0] = 0x1a // locally administered, and unlike other derived MACs
	return mac
}

// compiler gathers what one node has for one IP family.
type compiler struct {
	view    service.View
	ipv6    bool
	local   netip.Prefix // sources that are pods; invalid: local traffic is not detected
	nodeIP  netip.Addr   // the node's address on the underlay; invalid: none of this family
	proxy   plan.Origin
	hosts   []netip.Addr // on which node ports answer
	servers []ipvs.Server
	known   map[serverKey]bool
	bound   map[netip.Addr]plan.Origin // addresses that the node has for services only
	sets    map[string]map[ipset.Entry]bool
	barred  []serverKey // load balancer addresses that the node itself may not use
	nat     iptables.Builder
	filter  iptables.Builder
}

func newCompiler(v service.View, podCIDR netip.Prefix, proxy plan.Origin) *compiler {
	ipv6 := podCIDR.Addr().Is6()
	c := &compiler{
		view: v, ipv6: ipv6, proxy: proxy,
		known: map[serverKey]bool{}, bound: map[netip.Addr]plan.Origin{}, sets: map[string]map[ipset.Entry]bool{},
		nat: iptables.NewBuilder("nat", ipv6, 0), filter: iptables.NewBuilder("filter", ipv6, 0),
		nodeIP: topology.OfFamily(v.Node.Addrs, ipv6),
	}
	if v.Lab.Proxy.DetectLocal != topology.DetectNone {
		c.local = podCIDR
	}
	c.hosts = v.NodePortAddrs(ipv6)
	return c
}

// addTo adds what was gathered to a node's namespace.
func (c *compiler) addTo(out *plan.Netns) {
	for a, o := range c.bound {
		prefix := topology.Single(a)
		if c.view.Lab.Proxy.IPVS.Addresses == topology.AddressesRoutes {
			out.Routes = append(out.Routes, plan.Route{To: prefix, Dev: "lo", Local: true, Origin: o})
		} else {
			out.Addrs = append(out.Addrs, plan.Addr{Link: Device, Prefix: prefix, Origin: o})
		}
	}
	slices.SortFunc(out.Addrs, func(a, b plan.Addr) int { return a.Prefix.Addr().Compare(b.Prefix.Addr()) })
	slices.SortFunc(out.Routes, func(a, b plan.Route) int { return a.To.Addr().Compare(b.To.Addr()) })
	out.Virtual = append(out.Virtual, c.servers...)
	out.Sets = append(out.Sets, c.planSets()...)
	out.Tables = append(out.Tables, c.nat.Table, c.filter.Table)
}
