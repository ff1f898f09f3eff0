package nftables

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/topology"
)

// masqueradeBit marks packets that the chain masquerading masquerades: bit 14, as kube-proxy's
// --iptables-masquerade-bit.
const masqueradeBit = 1 << 14

// The priorities of iptables' tables, at the same hooks.
const (
	dnat    = -100
	snat    = 100
	preDNAT = dnat - 10
)

// static adds what serves all services.
func (c *compiler) static() {
	c.hooks()
	c.masquerading()
	c.clusterIPs()
	c.nodePorts()
	c.sources()
}

// hooks adds the base chains, and leads from them to others.
func (c *compiler) hooks() {
	isNew := nft.CTState{States: []string{"new"}}
	for _, h := range []struct {
		name, kind, hook string
		priority         int
		to               []string
		onlyNew          bool
	}{
		{"filter-prerouting-pre-dnat", "filter", "prerouting", preDNAT, []string{firewallCheck}, true},
		{"filter-output-pre-dnat", "filter", "output", preDNAT, []string{firewallCheck}, true},
		{"filter-input", "filter", "input", 0, []string{nodePortEndpoints, serviceEndpoints}, true},
		{"filter-forward", "filter", "forward", 0, []string{serviceEndpoints, clusterIPsCheck}, true},
		{"filter-output", "filter", "output", 0, []string{serviceEndpoints, clusterIPsCheck}, true},
		{"nat-prerouting", "nat", "prerouting", dnat, []string{services}, false},
		{"nat-output", "nat", "output", dnat, []string{services}, false},
		{"nat-postrouting", "nat", "postrouting", snat, []string{masquerading}, false},
	} {
		b := c.chain(h.name)
		b.Type, b.Hook, b.Priority, b.Policy = h.kind, h.hook, h.priority, "accept"
		for _, to := range h.to {
			if h.onlyNew {
				c.add(h.name, c.proxy, isNew, nft.Jump(to))
			} else {
				c.add(h.name, c.proxy, nft.Jump(to))
			}
		}
	}
}

func (c *compiler) masquerading() {
	c.add(markMasq, c.proxy, nft.OrMark(masqueradeBit))
	c.add(masquerading, c.proxy, nft.Match{Field: nft.MetaMark, Mask: masqueradeBit, Value: nft.Number(0)}, nft.Verdict{Kind: "return"})
	// Without the mark, a packet that passes here again, as after a tunnel, is not
	// rewritten twice.
	c.add(masquerading, c.proxy, nft.SetMark{And: ^uint32(0), Xor: masqueradeBit})
	c.add(masquerading, c.proxy, nft.Masquerade{FullyRandom: true})
}

// clusterIPs refuses other ports of cluster IPs, and drops what is for those that no service has.
func (c *compiler) clusterIPs() {
	c.set(nft.Set{Name: clusterIPs, Key: []nft.Type{c.addr}, Comment: "Active ClusterIPs", Origin: c.proxy})
	c.say(clusterIPsCheck, c.proxy, "Reject traffic to invalid ports of ClusterIPs", nft.Lookup{Fields: []nft.Field{c.dst}, Set: clusterIPs}, nft.Reject{})
	if cidr := topology.PrefixOfFamily(c.view.Lab.Network.ServiceCIDRs, c.ipv6); cidr.IsValid() {
		c.say(clusterIPsCheck, c.proxy, "Drop traffic to unallocated ClusterIPs", is(c.dst, nft.Prefix(cidr)), drop)
	}
}

// toPort are the fields of a packet that maps of node ports look up, toService those that maps of
// addresses do.
func toPort() []nft.Field { return []nft.Field{nft.L4Proto, nft.DPort} }

func (c *compiler) toService() []nft.Field { return append([]nft.Field{c.dst}, toPort()...) }

func (c *compiler) verdictMap(name, comment string, key ...nft.Type) {
	c.set(nft.Set{Name: name, Key: append(key, nft.Proto, nft.Port), Data: []nft.Type{nft.VerdictData}, Comment: comment, Origin: c.proxy})
}

// nodePorts adds the lookups of addresses and node ports: of those that have endpoints, and of
// those that have none.
func (c *compiler) nodePorts() {
	c.verdictMap(noEndpointServices, "vmap to drop or reject packets to services with no endpoints", c.addr)
	c.verdictMap(noEndpointPorts, "vmap to drop or reject packets to service nodeports with no endpoints")
	c.verdictMap(serviceIPs, "ClusterIP, ExternalIP and LoadBalancer IP traffic", c.addr)
	c.verdictMap(serviceNodePorts, "NodePort traffic")
	c.chain(rejectChain).Comment = "helper for @no-endpoint-services / @no-endpoint-nodeports"
	c.add(rejectChain, c.proxy, nft.Reject{})
	c.add(serviceEndpoints, c.proxy, nft.VMap{Fields: c.toService(), Map: noEndpointServices})
	c.add(services, c.proxy, nft.VMap{Fields: c.toService(), Map: serviceIPs})

	found, none := nft.VMap{Fields: toPort(), Map: serviceNodePorts}, nft.VMap{Fields: toPort(), Map: noEndpointPorts}
	if _, all := c.view.NodePortCIDRs(c.ipv6); all {
		notLoopback := isNot(c.dst, nft.Prefix(netip.MustParsePrefix("127.0.0.0/8")))
		if c.ipv6 {
			notLoopback = isNot(c.dst, nft.Addr(netip.IPv6Loopback()))
		}
		c.add(nodePortEndpoints, c.proxy, notLoopback, none)
		c.add(services, c.proxy, is(nft.FibDstType, nft.Number(nft.Local)), notLoopback, found)
		return
	}
	c.set(nft.Set{Name: nodePortIPs, Key: []nft.Type{c.addr}, Comment: "IPs that accept NodePort traffic", Origin: c.proxy})
	for _, a := range c.view.NodePortAddrs(c.ipv6) {
		c.put(nodePortIPs, nft.Element{Key: []nft.Value{nft.Addr(a)}})
	}
	toNode := nft.Lookup{Fields: []nft.Field{c.dst}, Set: nodePortIPs}
	c.add(nodePortEndpoints, c.proxy, toNode, none)
	c.add(services, c.proxy, toNode, found)
}

// sources adds the lookup of addresses that only some sources may use.
func (c *compiler) sources() {
	c.verdictMap(firewallIPs, "destinations that are subject to LoadBalancerSourceRanges", c.addr)
	c.add(firewallCheck, c.proxy, nft.VMap{Fields: c.toService(), Map: firewallIPs})
}
