package flat

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// Layout is the layout flat.
func Layout() service.Layout {
	return service.Layout{Compile: compile, Layout: topology.Layout{Name: "flat", About: "with services and endpoints as elements of a few maps"}}
}

// tableName is that of kube-proxy's own layout, so that a change of the layout is one
// transaction.
const tableName = "kube-proxy"

// compile returns a table for each IP family.
func compile(v service.View) plan.Netns {
	var out plan.Netns
	for _, cidr := range v.Lab.Network.PodCIDRs {
		c := newCompiler(v, cidr)
		for i := range v.Ports {
			if p := &v.Ports[i]; p.ClusterIP.Is6() == c.ipv6 {
				c.servicePort(p)
			}
		}
		c.chains()
		out.NFT = append(out.NFT, c.finish())
	}
	return out
}

// compiler gathers the table of one node and one IP family.
type compiler struct {
	view      service.View
	ipv6      bool
	local     netip.Prefix // sources that are pods; invalid: local traffic is not detected
	nodePorts []netip.Addr // on which node ports answer
	proxy     plan.Origin
	table     nft.Table
	// What destinations lead to.
	services, everywhere, endpoints, undelivered *nft.Set
	// Others.
	kinds, insideKinds, clusterIPs, hairpins, firewalled, sources *nft.Set

	affine *nft.Set // to the chains of services with session affinity

	used map[class]bool // by the services of the node, with endpoints or without: no counts
	most int            // endpoints of a service
}

func newCompiler(v service.View, podCIDR netip.Prefix) *compiler {
	ipv6 := podCIDR.Addr().Is6()
	c := &compiler{view: v, ipv6: ipv6, used: map[class]bool{},
		proxy:     plan.Origin{Object: "proxy", File: v.Lab.Proxy.Origin.File, Line: v.Lab.Proxy.Origin.Line},
		nodePorts: v.NodePortAddrs(ipv6)}
	if v.Lab.Proxy.DetectLocal != topology.DetectNone {
		c.local = podCIDR
	}
	c.table = nft.Table{Family: "ip", Name: tableName, Origin: c.proxy}
	addr := nft.IPv4
	if ipv6 {
		c.table.Family, addr = "ip6", nft.IPv6
	}
	set := func(name string, data []nft.Type, key ...nft.Type) *nft.Set {
		return &nft.Set{Name: name, Key: key, Data: data, Origin: c.proxy}
	}
	mark, verdict, endpoint := []nft.Type{nft.Mark}, []nft.Type{nft.VerdictData}, []nft.Type{addr, nft.Port}
	c.services = set("services", mark, addr, nft.Proto, nft.Port)
	c.everywhere = set("everywhere", mark, addr, nft.Proto, nft.Port)
	c.endpoints = set("endpoints", endpoint, addr, nft.Proto, nft.Port, nft.Mark)
	c.undelivered = set("no-endpoint-services", verdict, addr, nft.Proto, nft.Port)
	c.affine = set("affinity-services", verdict, addr, nft.Proto, nft.Port, nft.Mark)
	c.kinds = set("kinds", verdict, nft.Mark)
	c.insideKinds = set("everywhere-kinds", verdict, nft.Mark)
	c.clusterIPs = set("cluster-ips", nil, addr)
	c.hairpins = set("hairpins", nil, addr, addr)
	c.firewalled = set("firewall-ips", nil, addr, nft.Proto, nft.Port)
	c.sources = set("firewall-sources", nil, addr, nft.Proto, nft.Port, addr)
	c.sources.Interval = true
	return c
}

// finish returns the table, with the sets that its rules use. Where two services claim the
// same address and port, the first has it.
func (c *compiler) finish() nft.Table {
	used := map[string]bool{}
	for i := range c.table.Chains {
		for _, r := range c.table.Chains[i].Rules {
			for _, x := range r.Exprs {
				_, set := nft.LookedUp(x)
				used[set] = true
			}
		}
	}
	for _, s := range []*nft.Set{c.services, c.everywhere, c.endpoints, c.affine, c.undelivered, c.kinds, c.insideKinds, c.clusterIPs, c.hairpins, c.firewalled, c.sources} {
		if used[s.Name] {
			c.table.Sets = append(c.table.Sets, *s)
		}
	}
	c.table.Sort()
	for i := range c.table.Sets {
		s := &c.table.Sets[i]
		s.Elements = slices.CompactFunc(s.Elements, func(a, b nft.Element) bool { return slices.Equal(a.Key, b.Key) })
	}
	return c.table
}
