package iptables

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// largeCluster is the number of endpoints above which their rules have no comments
// (largeClusterEndpointsThreshold in kubernetes pkg/proxy/iptables).
const largeCluster = 1000

// Backend is the proxy mode iptables.
func Backend() service.Backend {
	return service.Backend{Compile: compile, ProxyMode: topology.ProxyMode{
		Name:       "iptables",
		About:      "chains of the table nat, a rule per endpoint",
		Limits:     "the time to program grows with the number of services",
		Translates: true, LoopbackNodePorts: true, DropsInvalid: true, Layouts: facts(),
	}}
}

// compile returns the tables nat, filter and mangle of each IP family.
func compile(v service.View) plan.Netns {
	var out plan.Netns
	for _, cidr := range v.Lab.Network.PodCIDRs {
		c := newCompiler(v, cidr)
		c.hooks()
		c.static()
		for i := range v.Ports {
			if p := &v.Ports[i]; p.ClusterIP.Is6() == c.ipv6 {
				c.servicePort(p)
			}
		}
		c.nodePortHook()
		out.Tables = append(out.Tables, c.nat.Table, c.filter.Table, c.mangle.Table)
		out.Sysctls = append(out.Sysctls, c.sysctls()...)
	}
	return out
}

// compiler gathers the rules of one node and one IP family.
type compiler struct {
	view                service.View
	ipv6                bool
	layout              *layout
	large               bool         // too many endpoints for comments
	local               netip.Prefix // sources that are pods; invalid: local traffic is not detected
	nodeIP              netip.Addr   // the node's address on the underlay; invalid: none of this family
	proxy               plan.Origin
	nat, filter, mangle iptables.Builder
}

func newCompiler(v service.View, podCIDR netip.Prefix) *compiler {
	ipv6 := podCIDR.Addr().Is6()
	c := &compiler{
		view: v, ipv6: ipv6, layout: layoutOf(&v.Lab.Proxy),
		proxy:  plan.Origin{Object: "proxy", File: v.Lab.Proxy.Origin.File, Line: v.Lab.Proxy.Origin.Line},
		filter: iptables.NewBuilder("filter", ipv6, 0),
		mangle: iptables.NewBuilder("mangle", ipv6, 0),
	}
	if v.Lab.Proxy.DetectLocal != topology.DetectNone {
		c.local = podCIDR
	}
	if v.Node != nil {
		c.nodeIP = topology.OfFamily(v.Node.Addrs, ipv6)
	}
	known := 0
	for i := range v.Ports {
		if p := &v.Ports[i]; p.ClusterIP.Is6() == ipv6 {
			known += p.Known
		}
	}
	c.large = known > largeCluster
	c.nat = iptables.NewBuilder("nat", ipv6, known+len(v.Ports))
	return c
}

// localNodePorts reports whether node ports answer on the loopback address. In IPv6
// they never do, and with node port addresses only where those contain it.
func (c *compiler) localNodePorts() bool {
	if c.ipv6 || !c.view.Lab.Proxy.LocalNodePorts {
		return false
	}
	cidrs, all := c.view.NodePortCIDRs(c.ipv6)
	return all || slices.ContainsFunc(cidrs, loopback4.Overlaps)
}

// sysctls lets packets to 127.0.0.1 leave lo, for node ports on that address.
func (c *compiler) sysctls() []plan.Sysctl {
	if !c.localNodePorts() {
		return nil
	}
	return []plan.Sysctl{{Key: "net.ipv4.conf.all.route_localnet", Value: "1"}}
}
