package fault

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/bgp"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Faults of routing tables.
func routes() []kind {
	return []kind{
		{topology.FaultKind{Name: "missing-route", About: "the node has no route to the pods of another node, so that requests arrive there and replies do not, or the reverse", Towards: true},
			func(d *damage) error { return d.reroute(nil) }},
		{topology.FaultKind{Name: "stale-route", About: "the node's route to the pods of another node leads to an address that no host has any more", Towards: true},
			func(d *damage) error {
				gone, ok := d.unused()
				if !ok {
					return errors.New("every address of node_cidr is taken")
				}
				return d.reroute(func(r *plan.Route) { r.Via, r.Dev, r.OnLink, r.More = gone, podnet.Uplink, false, nil })
			}},
		{topology.FaultKind{Name: "off-link-next-hop", About: "the node's route to the pods of another node goes via an address that is not on the link, which only the option onlink makes possible", Towards: true},
			func(d *damage) error {
				return d.reroute(func(r *plan.Route) { r.Via, r.Dev, r.OnLink, r.More = offLink, podnet.Uplink, true, nil })
			}},
		{topology.FaultKind{Name: "duplicate-pod-cidr", About: "the node has taken the pod CIDR of another node, too: all others send it the packets for those pods", Towards: true}, duplicate},
		{topology.FaultKind{Name: "strict-rp-filter", About: "the node drops packets that arrive by another link than the one that leads back to their source (rp_filter 1)"},
			func(d *damage) error { return d.set("net.ipv4.conf.all.rp_filter", "1") }},
		{topology.FaultKind{Name: "forwarding-off", About: "the node does not forward IPv4 (ip_forward 0): it reaches its pods and other nodes itself, and pods reach only each other on its bridge"},
			func(d *damage) error { return d.set("net.ipv4.ip_forward", "0") }},
		{topology.FaultKind{Name: "missing-addresses", About: "the node does not hold the addresses of services to be its own (proxy mode ipvs): it forwards what pods send to them, past its virtual servers"}, (*damage).disown},
	}
}

// disown takes away what makes the addresses of virtual servers the node's own: those of devices that
// are there for nothing else, and local routes.
func (d *damage) disown() error {
	n := d.node()
	serves := func(p netip.Prefix) bool {
		return p.IsSingleIP() && slices.ContainsFunc(n.Virtual, func(s ipvs.Server) bool { return s.Addr.Addr() == p.Addr() })
	}
	dummy := func(link string) bool {
		return slices.ContainsFunc(n.Links, func(l plan.Link) bool { return l.Name == link && l.Type == plan.Dummy })
	}
	var addrs, routes bool
	n.Addrs, addrs = without(n.Addrs, func(a plan.Addr) bool { return dummy(a.Link) && serves(a.Prefix) })
	n.Routes, routes = without(n.Routes, func(r plan.Route) bool { return r.Local && serves(r.To) })
	if !addrs && !routes {
		return fmt.Errorf("node %q has no virtual server with an address of its own, as proxy mode ipvs makes for services", d.fault.Node.Name)
	}
	return nil
}

// offLink is an address that no lab has (RFC 5737).
var offLink = netip.AddrFrom4([4]byte{198, 51, 100, 1})

// unused is the last address of the nodes' network that nobody has.
func (d *damage) unused() (netip.Addr, bool) {
	taken := map[netip.Addr]bool{}
	for i := range d.plan.Netns {
		for _, a := range d.plan.Netns[i].Addrs {
			taken[a.Prefix.Addr()] = true
		}
	}
	cidr := topology.PrefixOfFamily(d.lab.Network.NodeCIDRs, false)
	if !cidr.IsValid() {
		return netip.Addr{}, false
	}
	for a := lastOf(cidr).Prev(); cidr.Contains(a); a = a.Prev() {
		if !taken[a] {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// lastOf is the broadcast address of an IPv4 prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(b)
}

// reroute changes the node's IPv4 routes to the pods of the other node, or removes them.
func (d *damage) reroute(change func(*plan.Route)) error {
	n, to := d.node(), d.fault.Towards
	n.Routes = slices.Clone(n.Routes)
	found := false
	for i := range n.Routes {
		if r := &n.Routes[i]; r.To.Addr().Is4() && slices.Contains(to.PodCIDRs, r.To) {
			if r.Protocol == plan.BGP {
				return fmt.Errorf("node %q learns its route to the pods of node %q by BGP: nothing else sets it. Stage a fault of the sessions, blocked-port with port = %d", d.fault.Node.Name, to.Name, bgp.Port)
			}
			found = true
			if change != nil {
				change(r)
				r.Origin = d.origin()
			}
		}
	}
	if !found {
		return fmt.Errorf("in %s, node %q has no route of its own to the pods of node %q", d.mode(), d.fault.Node.Name, to.Name)
	}
	if change == nil {
		n.Routes, _ = without(n.Routes, func(r plan.Route) bool { return r.To.Addr().Is4() && slices.Contains(to.PodCIDRs, r.To) })
	}
	return nil
}

// duplicate gives the node the pod CIDR of another: the address of that node's bridge, and
// on all other nodes the routes that lead to its own pods.
func duplicate(d *damage) error {
	if d.lab.Network.Mode.SharedCIDR {
		return fmt.Errorf("in %s, all nodes have the same pod CIDR already", d.mode())
	}
	impostor, victim := d.node(), d.fault.Towards
	if len(impostor.XfrmPolicies) > 0 {
		return fmt.Errorf("in %s, policies lead packets to nodes, which no other node can take over", d.mode())
	}
	own := topology.PrefixOfFamily(d.fault.Node.PodCIDRs, false)
	stolen := topology.PrefixOfFamily(victim.PodCIDRs, false)
	i := slices.IndexFunc(impostor.Addrs, func(a plan.Addr) bool { return a.Link == podnet.PodBridge && own.Contains(a.Prefix.Addr()) })
	if !own.IsValid() || !stolen.IsValid() || i < 0 {
		return fmt.Errorf("in %s, nodes have no bridge with an address of their pod CIDR", d.mode())
	}
	impostor.Addrs = append(slices.Clone(impostor.Addrs), plan.Addr{Link: podnet.PodBridge, Prefix: netip.PrefixFrom(stolen.Addr().Next(), stolen.Bits()), Origin: d.origin()})
	impostor.Routes, _ = without(impostor.Routes, func(r plan.Route) bool { return r.To == stolen })
	for _, other := range d.lab.Nodes {
		if other == d.fault.Node || other == victim {
			continue
		}
		n := d.netns(other.Netns())
		to := slices.IndexFunc(n.Routes, func(r plan.Route) bool { return r.To == own })
		n.Routes = slices.Clone(n.Routes)
		for k := range n.Routes {
			if n.Routes[k].To == stolen && to >= 0 {
				n.Routes[k] = n.Routes[to]
				n.Routes[k].To, n.Routes[k].Origin = stolen, d.origin()
			}
		}
		n.Tunnels = slices.Clone(n.Tunnels)
		for k := range n.Tunnels {
			n.Tunnels[k].Peers = steal(n.Tunnels[k].Peers, stolen, own, d.origin())
		}
	}
	return nil
}

// steal gives the pods of one peer of a tunnel to another, which has own.
func steal(peers []occupant.TunnelPeer, stolen, own netip.Prefix, o plan.Origin) []occupant.TunnelPeer {
	peers = slices.Clone(peers)
	has := func(pods netip.Prefix) int {
		return slices.IndexFunc(peers, func(p occupant.TunnelPeer) bool { return p.Pods == pods })
	}
	if from, to := has(stolen), has(own); from >= 0 && to >= 0 {
		peers[from] = peers[to]
		peers[from].Pods, peers[from].Origin = stolen, o
	}
	return peers
}

// set changes a setting of the node.
func (d *damage) set(key, value string) error {
	n := d.node()
	n.Sysctls = slices.Clone(n.Sysctls)
	for i := range n.Sysctls {
		if n.Sysctls[i].Key == key {
			n.Sysctls[i].Value = value
			return nil
		}
	}
	return fmt.Errorf("node %q has no IPv4", d.fault.Node.Name)
}
