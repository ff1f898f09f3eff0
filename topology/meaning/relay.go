package meaning

import (
	"cmp"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// redirected handles a packet for a service on a node with a proxy in user space: it is then
// for a port of the node. External IPs are left to the host that has them where pods behind a
// bridge, or the node's own processes, dial them.
func (ps *paths) redirected(n *topology.Node, u *use, p packet) bool {
	bridged := !p.self && p.hops == 0 && !ps.lab.Network.Mode.PodRoutes
	balanced := slices.ContainsFunc(u.service.LoadBalancers, func(l topology.LoadBalancerIP) bool { return l.Addr == p.dst })
	if u.kind == atExternalIP && !balanced && !ps.lab.owns(n, p.dst) && (p.self || bridged) {
		return false
	}
	to := topology.OfFamily(n.Addrs, u.six)
	if bridged {
		to = ps.lab.Network.BridgeAddr(n, u.six) // of the link that it came in by
	}
	p.changes = append(slices.Clone(p.changes), change{node: n, src: p.src, dst: p.dst, translate: true})
	p.dst, p.port = to, u.port.ProxyPort
	ps.forward(n, p, false)
	return true
}

// proxied is the service whose proxy takes a packet that ends at a place; nil: none does.
func (ps *paths) proxied(at place, p packet) *use {
	if at.node == nil || !ps.lab.Proxy.Mode.UserSpace {
		return nil
	}
	for sv, port := range ps.served(p.dst.Is6()) {
		if port.ProxyPort == p.port {
			return &use{service: sv, port: port, six: p.dst.Is6()}
		}
	}
	return nil
}

// maxRelays is how many proxies a connection passes: endpoints may be addresses of services.
const maxRelays = 4

// relay is what a proxy does with a connection that it has accepted: it makes others to the
// endpoints, one after the other, each time the next in turn, from any of them on.
func (ps *paths) relay(n *topology.Node, u *use) {
	var list []*topology.Endpoint
	for _, e := range u.port.Endpoints {
		if e.Ready && e.Addr.Addr().Is6() == u.six {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, byText)
	if len(list) == 0 || ps.relays >= maxRelays {
		ps.gaveUp()
		return
	}
	for i := range list {
		ps.attempt(n, append(slices.Clone(list[i:]), list[:i]...), 0, 0)
	}
}

func (ps *paths) gaveUp() {
	if ps.protocol == topology.UDP {
		ps.silence()
		return
	}
	ps.end(flow.Result{Outcome: flow.Reset})
}

// attempt connects to an endpoint, and where that can fail, to the next.
func (ps *paths) attempt(n *topology.Node, list []*topology.Endpoint, number int, waited time.Duration) {
	patience := flow.ProxyPatience()
	switch {
	case waited >= dialerPatience:
		ps.silence() // the dialer has given up
		return
	case number == len(patience):
		ps.gaveUp()
		return
	}
	own := &paths{lab: ps.lab, protocol: ps.protocol, relays: ps.relays + 1}
	own.dial(topology.Dialer{Node: n}, list[number%len(list)].Addr)
	var failed, silent bool
	for _, r := range own.results {
		switch {
		case r.Outcome == flow.Connected:
			ps.end(r)
		case ps.protocol == topology.UDP && r.Outcome != flow.Unreachable:
			ps.silence()
		case r.Outcome == flow.Timeout:
			silent = true
		default:
			failed = true
		}
	}
	if silent {
		ps.attempt(n, list, number+1, waited+patience[number])
	}
	if failed {
		ps.attempt(n, list, number+1, waited)
	}
}

// dialerPatience is how long dialers wait.
const dialerPatience = time.Second

func byText(a, b *topology.Endpoint) int { return cmp.Compare(a.Addr.String(), b.Addr.String()) }
