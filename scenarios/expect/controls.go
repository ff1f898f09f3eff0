package expect

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// Controls warns of every expectation of silence without a positive control: when
// nothing in the same scenario ever connects to the listener, the silence may only
// mean that nothing was listening. lab tells which listeners are behind a service.
func Controls(lab *topology.Lab, all []*Reach) []topology.Problem {
	l := listeners{lab: lab}
	proved := map[listener]bool{}
	for _, r := range all {
		for to, t := range r.To {
			if r.some(to, func(o flow.Outcome) bool { return o == flow.Connected }) {
				for _, at := range l.of(t, r.Transport(), r.Answers) {
					proved[at] = true
				}
			}
		}
	}
	var warnings []topology.Problem
	for _, r := range all {
		for to, t := range r.To {
			if !r.some(to, func(o flow.Outcome) bool { return o == flow.Timeout }) {
				continue
			}
			if slices.ContainsFunc(l.of(t, r.Transport(), nil), func(at listener) bool { return proved[at] }) {
				continue
			}
			warnings = append(warnings, topology.Problem{
				Summary: "Silence without a positive control",
				Detail: fmt.Sprintf("Nothing in this scenario ever connects to %s over %s, so this silence may only mean that "+
					"nothing listens; add an expectation that reaches it from elsewhere.", t.Name, r.Transport()),
				Origin:  r.Origin,
				Warning: true,
			})
		}
	}
	return warnings
}

// some reports whether f holds for how the connections of any dialer to a target
// should end.
func (r *Reach) some(to int, f func(flow.Outcome) bool) bool {
	dialers := 1
	if r.Allow != nil {
		dialers = len(r.From) // they differ
	}
	for from := range dialers {
		for o := range r.outcomesOf(from, to) {
			if f(o) {
				return true
			}
		}
	}
	return false
}

// listener is what a target leads to: an address, or a port of a service, which
// its cluster IPs and node ports share.
type listener struct {
	protocol flow.Protocol
	addr     netip.AddrPort
	service  *topology.ServicePort
}

type listeners struct{ lab *topology.Lab }

// of lists what a target leads to: itself, and for a service its port and its
// endpoints, or those of them that are named.
func (l listeners) of(t Target, protocol flow.Protocol, names []string) []listener {
	if t.NotFound {
		return nil
	}
	found := []listener{{protocol: protocol, addr: t.Addr}}
	for _, a := range t.Also {
		found = append(found, listener{protocol: protocol, addr: a})
	}
	if l.lab == nil {
		return found
	}
	for _, s := range l.lab.Services {
		for _, p := range s.Ports {
			if flow.Protocol(p.Protocol) != protocol || !l.leadsTo(t.Addr, s, p) {
				continue
			}
			found = append(found, listener{protocol: protocol, service: p})
			for _, e := range p.Endpoints {
				if names == nil || e.Pod != nil && slices.Contains(names, e.Pod.AgentName()) {
					found = append(found, listener{protocol: protocol, addr: e.Addr})
				}
			}
		}
	}
	return found
}

// leadsTo reports whether addr is a cluster IP, an external or load balancer IP or a
// node port of the service.
func (l listeners) leadsTo(addr netip.AddrPort, s *topology.Service, p *topology.ServicePort) bool {
	own := slices.Contains(s.ClusterIPs, addr.Addr()) || slices.Contains(s.ExternalIPs, addr.Addr()) ||
		slices.ContainsFunc(s.LoadBalancers, func(b topology.LoadBalancerIP) bool { return b.Addr == addr.Addr() })
	if addr.Port() == p.Port && own {
		return true
	}
	if p.NodePort == 0 || addr.Port() != p.NodePort {
		return false
	}
	return addr.Addr().IsLoopback() || slices.ContainsFunc(l.lab.Nodes, func(n *topology.Node) bool { return slices.Contains(n.Addrs, addr.Addr()) })
}
