package flat

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// destination is what a service port is found by: an address, a protocol and a port.
type destination [3]nft.Value

// servicePort adds the elements of one service port.
func (c *compiler) servicePort(p *service.Port) {
	c.clusterIPs.Elements = append(c.clusterIPs.Elements, nft.Element{Key: []nft.Value{nft.Addr(p.ClusterIP)}})
	c.most = max(c.most, len(p.Cluster), len(p.Local))
	internal := []destination{to(p.ClusterIP, p.Port.Protocol, p.Port.Port)}
	c.reach(p, internal, c.internal(p))
	if external := c.external(p); p.External() {
		c.reach(p, external, externalClass(p))
	}
	if p.Service.AffinitySeconds != 0 {
		c.remember(p)
	}
	c.firewall(p)
	c.hairpin(p)
}

func to(a netip.Addr, protocol topology.Protocol, port uint16) destination {
	return destination{nft.Addr(a), nft.Protocol(string(protocol)), nft.Number(uint32(port))}
}

// external are the destinations outside the cluster.
func (c *compiler) external(p *service.Port) []destination {
	var list []destination
	for _, addrs := range [][]netip.Addr{p.ExternalIPs, p.VIPs} {
		for _, a := range addrs {
			list = append(list, to(a, p.Port.Protocol, p.Port.Port))
		}
	}
	if p.Port.NodePort != 0 {
		for _, a := range c.nodePorts {
			list = append(list, to(a, p.Port.Protocol, p.Port.NodePort))
		}
	}
	return list
}

// internal is the class of the cluster IP: what does not come from a pod is masqueraded,
// since the endpoint's node may have no route back to it.
func (c *compiler) internal(p *service.Port) class {
	var k class
	switch {
	case c.view.Lab.Proxy.MasqueradeAll:
		k = everything
	case c.local.IsValid():
		k = foreign
	}
	if p.InternalLocal() {
		k |= onNode
	}
	return k
}

// externalClass is the class of the other destinations.
func externalClass(p *service.Port) class {
	if p.ExternalLocal() {
		return onNode | outside
	}
	return everything // the endpoint may be on another node; the reply has to come back here
}

// reach adds what leads from destinations to endpoints, or to the refusal.
func (c *compiler) reach(p *service.Port, list []destination, k class) {
	inside := own
	if p.Service.AffinitySeconds != 0 {
		k, inside = k|remembers, inside|remembers
	}
	c.used[k] = true
	c.used[inside] = c.used[inside] || k&outside != 0
	chosen := p.Cluster
	if k&onNode != 0 {
		chosen = p.Local
	}
	for _, d := range list {
		switch {
		case !p.Any:
			c.undelivered.Elements = append(c.undelivered.Elements, d.element(nft.Verdict{Kind: "goto", Chain: reject}))
			continue
		case len(chosen) == 0:
			c.undelivered.Elements = append(c.undelivered.Elements, d.element(nft.Verdict{Kind: "drop"}))
		default:
			c.fill(k, d, p, chosen)
		}
		if k&outside != 0 {
			c.everywhere.Elements = append(c.everywhere.Elements, d.class(inside, p.Cluster))
			c.fill(inside, d, p, p.Cluster)
		} else if len(chosen) == 0 {
			continue
		}
		c.services.Elements = append(c.services.Elements, d.class(k, chosen))
	}
}

func (d destination) element(v nft.Verdict) nft.Element { return nft.Element{Key: d[:], Verdict: v} }

func (d destination) class(k class, chosen []*topology.Endpoint) nft.Element {
	if k&remembers == 0 {
		k |= class(len(chosen))
	}
	return nft.Element{Key: d[:], Data: []nft.Value{nft.Number(uint32(k))}}
}

// fill gives each endpoint a mark under the destination: the class with the number of the
// endpoint, from 0 on, in place of how many there are. With affinity there is only a chain.
func (c *compiler) fill(k class, d destination, p *service.Port, list []*topology.Endpoint) {
	if k &^= count; k&remembers != 0 {
		chain := "cluster-"
		if k&onNode != 0 {
			chain = "local-"
		}
		c.affine.Elements = append(c.affine.Elements, nft.Element{Key: append(d[:], nft.Number(uint32(k))), Verdict: nft.Verdict{Kind: "goto", Chain: chain + affinityName(p)}})
		return
	}
	for i, e := range list {
		c.endpoints.Elements = append(c.endpoints.Elements, nft.Element{Key: []nft.Value{d[0], d[1], d[2], nft.Number(uint32(k) | uint32(i))},
			Data: []nft.Value{nft.Addr(e.Addr.Addr()), nft.Number(uint32(e.Addr.Port()))}})
	}
}

// hairpin adds the endpoints that could choose themselves without being masqueraded
// anyway: pods and those of this node.
func (c *compiler) hairpin(p *service.Port) {
	for _, e := range p.All {
		if a := e.Addr.Addr(); !c.local.IsValid() || c.local.Contains(a) || e.Node == c.view.Node.Name {
			c.hairpins.Elements = append(c.hairpins.Elements, nft.Element{Key: []nft.Value{nft.Addr(a), nft.Addr(a)}})
		}
	}
}

// firewall adds the sources that may use the load balancer's addresses.
func (c *compiler) firewall(p *service.Port) {
	ranges := p.Admitted(c.view.Node)
	if len(ranges) == 0 {
		return
	}
	for _, a := range p.VIPs {
		d := to(a, p.Port.Protocol, p.Port.Port)
		c.firewalled.Elements = append(c.firewalled.Elements, nft.Element{Key: d[:]})
		for _, r := range ranges {
			c.sources.Elements = append(c.sources.Elements, nft.Element{Key: []nft.Value{d[0], d[1], d[2], nft.Prefix(r)}})
		}
	}
}
