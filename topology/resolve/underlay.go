package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// resolveSubnets resolves the links of the underlay: the one of node_cidr, and those that
// the scenario adds.
func (r *resolver) resolveSubnets() {
	n := &r.Lab.Network
	r.addSubnet(&topology.Subnet{Name: topology.DefaultSubnet, Written: topology.Written{Block: topology.DefaultSubnet},
		CIDRs: n.NodeCIDRs, MTU: n.MTU, Origin: n.Origin})
	free := r.freeBlocks()
	seen := map[string]topology.Origin{}
	for _, s := range r.Spec.Subnets {
		r.Of("subnet", s.Written.Block, s.Written.Key)
		named := cmp.Or(s.Written.Named, s.Origin)
		r.CheckName("subnet", s.Name, named)
		if s.Name == topology.DefaultSubnet {
			r.Errorf(draft.At(named), "Subnet exists already", "The subnet \"default\" is that of node_cidr and mtu in the network block. Set them there, or choose another name.")
			continue
		}
		if !r.Unique(seen, "subnet", s.Name, named) {
			continue
		}
		sub := &topology.Subnet{Name: s.Name, Written: s.Written, Origin: s.Origin,
			CIDRs: r.cidrs("cidr", s.CIDRs, subnetBlock(free, s)),
			MTU:   r.Number(s.MTU, "MTU", n.MTU, minMTU, maxMTU)}
		r.addSubnet(sub)
	}
	r.Of("", "", "")
	r.overlaps()
}

// addSubnet adds a subnet with its pool of addresses.
func (r *resolver) addSubnet(s *topology.Subnet) {
	r.Lab.Subnets = append(r.Lab.Subnets, s)
	r.subnets[s.Name] = s
	for _, p := range s.CIDRs {
		gateway := p.Addr().Next()
		s.Gateways = append(s.Gateways, gateway)
		pool := ipam.NewAddrPool(p)
		pool.Claim(gateway, "the underlay")
		r.underlay[s] = append(r.underlay[s], pool)
	}
}

// blockOf is what the subnet with a number gets where it has no cidr: 192.168.2.0/24 and
// fd00:192:168:2::/64.
func blockOf(slot uint64) [2]string {
	return [2]string{fmt.Sprintf("192.168.%d.0/24", slot), fmt.Sprintf("fd00:192:168:%x::/64", slot)}
}

// freeBlocks are the numbers whose blocks nothing that is written overlaps.
func (r *resolver) freeBlocks() *ipam.Pool {
	n := &r.Lab.Network
	taken := slices.Concat(n.NodeCIDRs, n.PodCIDRs, n.ServiceCIDRs, n.LoadBalancerCIDRs)
	for _, s := range r.Spec.Subnets {
		taken = append(taken, s.CIDRs.Value...)
	}
	free := ipam.NewPool(256)
	for slot := range free.Size {
		for _, b := range blockOf(slot) {
			if slices.ContainsFunc(taken, netip.MustParsePrefix(b).Overlaps) {
				free.Reserve(slot, "the scenario")
			}
		}
	}
	return free
}

// subnetBlock is the block of a subnet: the one with its number, else one by its name.
func subnetBlock(free *ipam.Pool, s topology.SubnetSpec) [2]string {
	slot, ok := numberedSlot(s.Name, 0, free)
	if ok {
		_, ok = free.Reserve(slot, s.Name)
	}
	if !ok {
		slot, _ = free.Take("subnet/"+s.Name, free.All(), s.Name)
	}
	return blockOf(slot)
}

// subnet is the subnet that an object names, or the default one.
func (r *resolver) subnet(o topology.Opt[string]) *topology.Subnet {
	name := o.Or(topology.DefaultSubnet)
	if s := r.subnets[name]; s != nil {
		return s
	}
	r.Undeclared("subnet", name, maps.Keys(r.subnets), draft.At(o.Origin))
	return r.Lab.Subnets[0]
}

// cidrOf is the name of the prefixes of a subnet, for messages.
func cidrOf(s *topology.Subnet) string {
	if s.Name == topology.DefaultSubnet {
		return "node_cidr"
	}
	return fmt.Sprintf("subnet %q", s.Name)
}

// routerOffset is the first number of an address for routers: 192.168.0.2 is the first one.
const routerOffset = 2

func (r *resolver) resolveRouters() {
	seen := map[string]topology.Origin{}
	var hosts []host
	for _, s := range r.Spec.Routers {
		r.Of("router", s.Written.Block, s.Written.Key)
		named := cmp.Or(s.Written.Named, s.Origin)
		r.CheckName("router", s.Name, named)
		if !r.Unique(seen, "router", s.Name, named) {
			continue
		}
		out := &topology.Router{Name: s.Name, Written: s.Written, ReversePath: s.ReversePath.Value, Origin: s.Origin}
		for _, ls := range s.Links {
			l := r.routerLink(out, ls)
			if l == nil {
				continue
			}
			out.Links = append(out.Links, l)
			hosts = append(hosts, host{"router", s.Name, s.Written, l.Subnet, ls.Address, &l.Addrs, cmp.Or(ls.Origin, s.Origin), func(pool ipam.AddrPool, owner string) (netip.Addr, bool) {
				return freeRouterAddress(pool, s.Name, owner)
			}})
		}
		if len(s.Links) < 2 {
			r.Errorf(draft.At(named), "Router with one link",
				"Router %q has %s, so there is nothing that it could forward to. Give it a link in each of the subnets that it joins.", draft.Shorten(s.Name), [...]string{"no link", "one link"}[len(s.Links)])
		}
		for _, d := range s.Drops {
			out.Drops = append(out.Drops, r.drop(d))
		}
		r.Lab.Routers = append(r.Lab.Routers, out)
	}
	r.hostAddresses(hosts)
	for i, out := range r.Lab.Routers {
		for _, l := range out.Links {
			if len(l.Addrs) > 0 {
				l.MAC = ipam.MACFor(ipam.Ether, l.Addrs[0])
			}
		}
		s := topology.First(r.Spec.Routers, func(s topology.RouterSpec) bool { return s.Name == r.Lab.Routers[i].Name })
		r.Of("router", s.Written.Block, s.Written.Key)
		out.Routes = r.routes(fmt.Sprintf("router %q", out.Name), s.Routes, out.Subnets(), nil)
	}
}

// linkName is a name that the kernel accepts for a device, and sysctl for its settings.
var linkName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,14}$`)

// routerLink resolves one link of a router; nil: it cannot have it.
func (r *resolver) routerLink(of *topology.Router, s topology.RouterLinkSpec) *topology.RouterLink {
	l := &topology.RouterLink{Name: s.Name, Subnet: r.subnet(s.Subnet), Origin: s.Origin}
	who := fmt.Sprintf("link %q of router %q", draft.Shorten(s.Name), of.Name)
	switch other := of.LinkTo(l.Subnet); {
	case !linkName.MatchString(s.Name) || slices.Contains([]string{"lo", "all", "default"}, s.Name):
		r.Errorf(draft.At(s.Origin), "Invalid name", "%q cannot be the name of a network device. Use up to 15 of a-z, 0-9 and \"-\", such as \"eth0\".", draft.Shorten(s.Name))
		return nil
	case slices.ContainsFunc(of.Links, func(o *topology.RouterLink) bool { return o.Name == s.Name }):
		r.Errorf(draft.At(s.Origin), "Duplicate link", "Router %q has two links %q. Rename or remove one of them.", of.Name, s.Name)
		return nil
	case other != nil:
		r.Errorf(draft.At(s.Subnet.Origin, s.Origin), "Two links to a subnet",
			"The links %q and %q of router %q are both in the subnet %q. Set subnet of one of them to another one, or remove it.", other.Name, s.Name, of.Name, l.Subnet.Name)
		return nil
	}
	l.Link = r.link(who, s.Link, l.Subnet)
	return l
}

// freeRouterAddress is the address with the number of a router, else one of the first few,
// which no node gets.
func freeRouterAddress(pool ipam.AddrPool, name, owner string) (netip.Addr, bool) {
	if slot, ok := numberedSlot(name, routerOffset-1, pool.Pool); ok && slot >= routerOffset && slot < nodeOffset {
		if _, ok := pool.Reserve(slot, owner); ok {
			return pool.At(slot), true
		}
	}
	return pool.Assign("router/"+name, ipam.Window{Lo: routerOffset, Hi: nodeOffset}, owner)
}

// drop resolves what a router drops.
func (r *resolver) drop(s topology.DropSpec) topology.Drop {
	ported := []string{string(topology.TCP), string(topology.UDP), string(topology.SCTP)}
	d := topology.Drop{Protocol: topology.Protocol(r.Enum(s.Protocol, "protocol", "", append(ported, string(topology.ICMP)), nil)),
		Port: uint16(r.Number(s.Port, "port", 0, 1, 65535)), From: s.From.Value, To: s.To.Value, Origin: s.Origin}
	if s.Port.Set && !slices.Contains(ported, string(d.Protocol)) {
		r.Errorf(draft.At(s.Port.Origin), "Port without protocol", "Only packets of tcp, udp and sctp have ports. Set protocol = \"tcp\", or remove port.")
	}
	for _, o := range []topology.Opt[[]netip.Prefix]{s.From, s.To} {
		for i, p := range o.Value {
			if p != p.Masked() {
				r.Errorf(draft.At(o.Origin), "CIDR has host bits", "%s has bits beyond its prefix length. Use %s.", p, p.Masked())
				o.Value[i] = p.Masked()
			}
		}
	}
	return d
}

// checkUnderlay reports what the underlay cannot carry.
func (r *resolver) checkUnderlay() {
	r.Lab.Network.PathMTU = r.Lab.Network.MTU
	if len(r.Declared) == 0 {
		return
	}
	mtu, of := r.Lab.Narrowest()
	r.Lab.Network.PathMTU = mtu
	r.roomForPods(mtu, r.mtuOrigin(of))
	first := r.Declared[0]
	told := map[*topology.Subnet]bool{first.Subnet: true}
	for _, n := range r.Declared[1:] {
		if told[n.Subnet] {
			continue
		}
		told[n.Subnet] = true
		r.Of("node", n.Written.Block, n.Written.Key)
		s := topology.First(r.Spec.Nodes, func(s topology.NodeSpec) bool { return s.Name == n.Name })
		where := draft.At(s.Subnet.Origin, n.Origin)
		switch mode := r.Lab.Network.Mode; {
		case !r.Lab.Joined(first.Subnet, n.Subnet):
			r.Errorf(where, "No way between nodes",
				"Node %q is in the subnet %q, node %q in %q, and no router leads from one to the other. Add a router with a link in each of them.", n.Name, n.Subnet.Name, first.Name, first.Subnet.Name)
		case mode.Routed && !routesAll(&r.Lab.Network, n, first) && !routesByHand(n, first):
			learn := ""
			if mode.LearnsRoutes {
				learn = ", give the network and all routers a bgp block"
			}
			r.Warnf(where, "Next hop behind a router",
				"With mode %q node %q has no route to the pods of node %q: the next hop has to be on the link, but is in the subnet %q, behind a router. Use a mode with a tunnel, such as \"vxlan\"%s, or write routes of the nodes and the routers.",
				mode.Name, n.Name, first.Name, first.Subnet.Name, learn)
		}
	}
	r.Of("", "", "")
}

// mtuOrigin is where the MTU of a subnet or of a router's link is written.
func (r *resolver) mtuOrigin(of any) topology.Origin {
	switch of := of.(type) {
	case *topology.Subnet:
		for _, s := range r.Spec.Subnets {
			if s.Name == of.Name {
				return s.MTU.Origin
			}
		}
	case *topology.RouterLink:
		for _, s := range r.Spec.Routers {
			for _, l := range s.Links {
				if l.Origin == of.Origin {
					return l.Link.MTU.Origin
				}
			}
		}
	}
	return topology.Origin{}
}

// routesAll reports whether a node has a route to the pods of another in every IP family.
func routesAll(network *topology.Network, n, to *topology.Node) bool {
	return !slices.ContainsFunc(to.PodCIDRs, func(p netip.Prefix) bool { return !network.RoutesPods(n, to, p.Addr().Is6()) })
}

// routesByHand reports whether the scenario gives a node a route to the pods of another.
func routesByHand(n, to *topology.Node) bool {
	return slices.ContainsFunc(n.Routes, func(route topology.Route) bool {
		return slices.ContainsFunc(to.PodCIDRs, func(p netip.Prefix) bool { return route.To.Overlaps(p) && route.To.Bits() > 0 })
	})
}

// roomForPods reports an MTU between nodes that leaves too little for pods.
func (r *resolver) roomForPods(mtu int, written topology.Origin) {
	mode, s := r.Lab.Network.Mode, &r.Spec.Network
	if len(r.Lab.Network.NodeCIDRs) == 0 {
		return
	}
	for _, p := range r.Lab.Network.PodCIDRs {
		least, overhead := minMTU, mtu-r.Lab.Network.PodMTU(mtu, p.Addr().Is6())
		if p.Addr().Is6() {
			least = minMTU6
		}
		left := mtu - overhead
		if left >= least {
			continue
		}
		r.Errorf(draft.At(written, s.MTU.Origin, s.Origin), "MTU too small",
			"The narrowest link between nodes has an MTU of %d bytes, and mode %q, set %s, adds %d to each packet: %d are left for pods, but %s needs %d. Use an MTU of at least %d, or another mode.",
			mtu, mode.Name, s.Mode.Origin.SeenFrom(cmp.Or(written, s.MTU.Origin)), overhead, left, draft.FamilyName(p.Addr().Is6()), least, least+overhead)
		return
	}
}
