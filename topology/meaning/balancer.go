package meaning

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// atBalancer is the service whose load balancer takes a packet that ends at a place; nil: none does.
func (ps *paths) atBalancer(at place, p packet) *use {
	if at.client == nil || ps.protocol != topology.TCP {
		return nil
	}
	for _, sv := range ps.lab.Services {
		i := slices.IndexFunc(sv.Ports, func(port *topology.ServicePort) bool { return port.Protocol == topology.TCP && port.Port == p.port })
		if i >= 0 && sv.Balancer != nil && sv.Balancer.Client == at.client &&
			slices.ContainsFunc(sv.LoadBalancers, func(l topology.LoadBalancerIP) bool { return l.Addr == p.dst }) {
			return &use{service: sv, port: sv.Ports[i], six: p.dst.Is6()}
		}
	}
	return nil
}

// passOn is what a load balancer does with a connection that it has accepted: it makes another to
// the node port of any node whose check succeeds.
func (ps *paths) passOn(u *use) {
	b := u.service.Balancer
	alive := false
	for _, n := range u.service.Via {
		addr := topology.OfFamily(n.Addrs, u.six)
		if !addr.IsValid() || u.port.NodePort == 0 || ps.relays >= maxRelays {
			continue
		}
		own := &paths{lab: ps.lab, protocol: ps.protocol, relays: ps.relays + 1}
		own.dial(topology.Dialer{Client: b.Client}, netip.AddrPortFrom(addr, u.port.NodePort))
		if b.Check != nil && !slices.ContainsFunc(own.results, func(r flow.Result) bool { return r.Outcome == flow.Connected }) {
			continue
		}
		alive = true
		for _, r := range own.results {
			switch r.Outcome {
			case flow.Connected:
				ps.end(r)
			case flow.Timeout:
				ps.silence() // the dialer gives up before the balancer does
			default:
				ps.gaveUp()
			}
		}
	}
	if !alive {
		ps.gaveUp()
	}
}
