package resolve

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// nodeOffset leaves the first addresses of the underlay to routers and people:
// node1 is 192.168.0.11.
const nodeOffset = 10

func (r *resolver) resolveNodes() {
	seen := map[string]topology.Origin{}
	owners := map[*topology.Node]topology.NodeSpec{}
	var hosts []host
	for _, s := range r.Spec.Nodes {
		r.Of("node", s.Written.Block, s.Written.Key)
		named := cmp.Or(s.Written.Named, s.Origin)
		r.CheckName("node", s.Name, named)
		if !r.Unique(seen, "node", s.Name, named) {
			continue
		}
		n := &topology.Node{Name: s.Name, Written: s.Written, Labels: draft.Labels(s.Labels), Origin: s.Origin}
		n.Subnet = r.subnet(s.Subnet)
		r.zone(n, s)
		owners[n] = s
		hosts = append(hosts, host{"node", n.Name, s.Written, n.Subnet, s.Address, &n.Addrs, n.Origin, func(pool ipam.AddrPool, owner string) (netip.Addr, bool) {
			return freeNodeAddress(pool, n.Name, owner)
		}})
		r.Nodes[n.Name] = n
		r.Declared = append(r.Declared, n)
	}
	r.Lab.Nodes = slices.Clone(r.Declared)
	r.hostAddresses(hosts)
	r.nodePodCIDRs()
	for _, n := range r.Declared {
		if len(n.Addrs) > 0 {
			n.MAC = ipam.MACFor(ipam.Ether, n.Addrs[0])
			n.VTEPMAC = ipam.MACFor(ipam.VTEP, n.Addrs[0])
		}
		r.Of("node", n.Written.Block, n.Written.Key)
		who := fmt.Sprintf("node %q", n.Name)
		n.Routes = r.routes(who, owners[n].Routes, []*topology.Subnet{n.Subnet}, n.PodCIDRs)
		n.Link = r.link(who, owners[n].Link, n.Subnet)
		n.Key = r.key(n, owners[n].Key)
	}
}

// zoneLabel is where Kubernetes keeps the zone of a node.
const zoneLabel = "topology.kubernetes.io/zone"

// zone decides the zone of a node: its attribute or its label, which then agree.
func (r *resolver) zone(n *topology.Node, s topology.NodeSpec) {
	label, labeled := n.Labels[zoneLabel]
	if labeled && s.Zone.Set && label != s.Zone.Value {
		r.Errorf(draft.At(s.Zone.Origin), "Two zones",
			"Node %q is in zone %q, but its label %s says %q. Remove one of them.", n.Name, draft.Shorten(s.Zone.Value), zoneLabel, draft.Shorten(label))
	}
	if n.Zone = s.Zone.Or(label); n.Zone != "" {
		n.Labels[zoneLabel] = n.Zone
	}
}

// host is a node, client or link of a router that gets addresses on the underlay.
type host struct {
	kind, name string
	from       topology.Written
	subnet     *topology.Subnet
	written    topology.Opt[netip.Addr]
	addrs      *[]netip.Addr
	origin     topology.Origin
	free       func(pool ipam.AddrPool, owner string) (netip.Addr, bool)
}

// hostAddresses gives every host one address per family of its subnet: the written one,
// else a free one.
func (r *resolver) hostAddresses(hosts []host) {
	given := func(h host, pool ipam.AddrPool) bool {
		return h.written.Set && draft.SameFamily(h.written.Value, pool.Prefix)
	}
	owner := func(h host) string { return fmt.Sprintf("%s %q", h.kind, h.name) }
	for _, h := range hosts {
		r.Of(h.kind, h.from.Block, h.from.Key)
		for _, pool := range r.underlay[h.subnet] {
			if given(h, pool) {
				r.Claim(pool, cidrOf(h.subnet), h.written, owner(h))
			}
		}
	}
	for _, h := range hosts {
		r.Of(h.kind, h.from.Block, h.from.Key)
		for _, pool := range r.underlay[h.subnet] {
			a, ok := h.written.Value, true
			if !given(h, pool) {
				a, ok = h.free(pool, owner(h))
			}
			if !ok {
				r.Errorf(draft.At(h.origin), "No "+h.kind+" address left",
					"%s %s has no address left for %s. Use a larger %s.", cidrOf(h.subnet), pool.Prefix, owner(h), cidrOf(h.subnet))
				continue
			}
			*h.addrs = append(*h.addrs, a)
		}
		r.AddressFamily(h.written, h.subnet.CIDRs, cidrOf(h.subnet))
	}
}

// freeNodeAddress is the address with the number of a node, else one of the third
// quarter of the prefix, where neither numbered nodes nor clients usually are.
func freeNodeAddress(pool ipam.AddrPool, name, owner string) (netip.Addr, bool) {
	if slot, ok := numberedSlot(name, nodeOffset, pool.Pool); ok {
		if _, ok := pool.Reserve(slot, owner); ok {
			return pool.At(slot), true
		}
	}
	return pool.Assign("node/"+name, pool.Part(2, 3, 4), owner)
}

// nodePodCIDRs gives every node its share of the pod CIDRs: the one with its
// number, else one of the upper half.
func (r *resolver) nodePodCIDRs() {
	r.podPools = map[*topology.Node][]ipam.AddrPool{}
	for _, whole := range r.Lab.Network.PodCIDRs {
		r.Of("node", "", "")
		if r.Lab.Network.Mode.SharedCIDR {
			for _, n := range r.Declared {
				r.givePods(n, whole)
			}
			continue
		}
		bits, ok := r.nodePrefix(whole)
		if !ok {
			continue
		}
		blocks := ipam.NewPool(ipam.BlockCount(whole, bits))
		for _, n := range r.Declared {
			r.Of("node", n.Written.Block, n.Written.Key)
			slot, ok := numberedSlot(n.Name, 0, blocks)
			if ok {
				_, ok = blocks.Reserve(slot, n.Name)
			}
			if !ok {
				slot, ok = blocks.Take("pods/"+n.Name, blocks.Part(1, 2, 2), n.Name)
			}
			if !ok {
				r.Errorf(draft.At(n.Origin), "No pod CIDR left",
					"pod_cidr %s has only %d blocks of /%d, and none is left for node %q. Use a larger pod_cidr or a longer node_prefix.",
					whole, blocks.Size, bits, n.Name)
				continue
			}
			r.givePods(n, ipam.NthBlock(whole, bits, slot))
		}
	}
}

// givePods gives a node a prefix for its pods.
func (r *resolver) givePods(n *topology.Node, share netip.Prefix) {
	n.PodCIDRs = append(n.PodCIDRs, share)
	pool := ipam.NewAddrPool(share)
	if bridge := r.Lab.Network.BridgeAddr(n, share.Addr().Is6()); bridge.IsValid() {
		pool.Claim(bridge, fmt.Sprintf("the bridge of node %q", n.Name))
	}
	r.podPools[n] = append(r.podPools[n], pool)
}

// nodePrefix is the prefix length of a node's share of a pod CIDR.
func (r *resolver) nodePrefix(whole netip.Prefix) (bits int, ok bool) {
	s := &r.Spec.Network
	o, bits, longest := s.NodePrefix, s.NodePrefix.Or(defaultPrefix4), 29
	if whole.Addr().Is6() {
		o, bits, longest = s.NodePrefix6, s.NodePrefix6.Or(defaultPrefix6), 125
	}
	if bits < whole.Bits() || bits > longest {
		r.Errorf(draft.At(o.Origin, s.PodCIDRs.Origin, s.Origin), "Node prefix does not fit",
			"A share of /%d for each node does not fit into pod_cidr %s. Use a node_prefix from %d to %d.",
			bits, whole, whole.Bits(), longest)
		return 0, false
	}
	return bits, true
}

func (r *resolver) resolveClients() {
	seen := map[string]topology.Origin{}
	specs := map[*topology.Client]topology.ClientSpec{}
	var hosts []host
	for _, s := range r.Spec.Clients {
		r.Of("client", s.Written.Block, s.Written.Key)
		named := cmp.Or(s.Written.Named, s.Origin)
		r.CheckName("client", s.Name, named)
		if !r.Unique(seen, "client", s.Name, named) {
			continue
		}
		c := &topology.Client{Name: s.Name, Written: s.Written, Subnet: r.subnet(s.Subnet), Origin: s.Origin}
		specs[c] = s
		hosts = append(hosts, host{"client", c.Name, s.Written, c.Subnet, s.Address, &c.Addrs, c.Origin, func(pool ipam.AddrPool, owner string) (netip.Addr, bool) {
			return pool.Assign("client/"+c.Name, pool.Part(3, 4, 4), owner) // the last quarter
		}})
		r.Lab.Clients = append(r.Lab.Clients, c)
	}
	r.hostAddresses(hosts)
	for _, c := range r.Lab.Clients {
		s := specs[c]
		r.Of("client", c.Written.Block, c.Written.Key)
		who := fmt.Sprintf("client %q", c.Name)
		if len(c.Addrs) > 0 {
			c.MAC = ipam.MACFor(ipam.Ether, c.Addrs[0])
		}
		if len(c.Subnet.Gateways) > 0 {
			c.Gateway = c.Subnet.Gateways[0]
		}
		own := []*topology.Subnet{c.Subnet}
		if s.Gateway.Set {
			c.Gateway = s.Gateway.Value
			r.onLink(s.Gateway.Value, s.Gateway.Origin, who, "gateway", own, nil)
		}
		c.Routes = r.routes(who, s.Routes, own, nil)
		c.Ports = r.ports(who, s.Ports, s.Origin)
		c.Link = r.link(who, s.Link, c.Subnet)
		r.listeners(map[listenKey]holder{}, who, c.Netns(), c.Ports)
	}
}

// routes checks extra routes: each destination once, each next hop on the link.
func (r *resolver) routes(who string, specs []topology.RouteSpec, own []*topology.Subnet, linked []netip.Prefix) []topology.Route {
	var out []topology.Route
	seen := map[netip.Prefix]bool{}
	for _, s := range specs {
		switch to := s.To.Masked(); {
		case !s.To.IsValid() || !s.Via.IsValid() || s.To.Addr().Is4() != s.Via.Is4():
			r.Errorf(draft.At(s.Origin), "Invalid route",
				"A route of %s needs a destination and a next hop of the same IP family. Write { to = \"10.0.0.0/8\", via = node.node1.ip }.", who)
		case seen[to]:
			r.Errorf(draft.At(s.Origin), "Route given twice", "%s has two routes to %s. Remove one of them.", who, to)
		case to.Bits() == 0 && strings.HasPrefix(who, "client"):
			r.Errorf(draft.At(s.Origin), "Default route given twice", "%s has a default route already. Set gateway = %q instead.", who, s.Via)
		default:
			seen[to] = true
			r.onLink(s.Via, s.Origin, who, "next hop", own, linked)
			out = append(out, topology.Route{To: to, Via: s.Via, Origin: s.Origin})
		}
	}
	return out
}

// onLink reports a next hop that is not a neighbour: the kernel refuses it.
func (r *resolver) onLink(hop netip.Addr, origin topology.Origin, who, what string, own []*topology.Subnet, more []netip.Prefix) {
	if slices.ContainsFunc(own, func(s *topology.Subnet) bool { return s.Has(hop) }) || slices.ContainsFunc(more, func(p netip.Prefix) bool { return p.Contains(hop) }) {
		return
	}
	i := slices.IndexFunc(r.Lab.Subnets, func(s *topology.Subnet) bool { return s.Has(hop) })
	switch {
	case i < 0 || len(own) == 0:
		r.Errorf(draft.At(origin), "Next hop not on link",
			"The %s %s of %s is not on the nodes' network. Use an address of node_cidr, such as a node's.", what, hop, who)
	default:
		r.Errorf(draft.At(origin), "Next hop not on link",
			"The %s %s of %s is in the subnet %q, which is not on its link. Use an address of the subnet %q, such as that of a router's link there.", what, hop, who, r.Lab.Subnets[i].Name, own[0].Name)
	}
}

// numberedSlot is the slot for the number at the end of a name, if the
// pool has it: 1 for node1, counted from first.
func numberedSlot(name string, first uint64, p *ipam.Pool) (uint64, bool) {
	digits := name[len(strings.TrimRight(name, "0123456789")):]
	n, err := strconv.ParseUint(digits, 10, 32)
	return first + n, err == nil && first+n < p.Size
}
