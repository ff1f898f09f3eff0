package service

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/topology"
)

// UDPServices returns the UDP ports whose connection tracking entries a node has to
// clean up when endpoints change. Ports without endpoints are left alone: their
// clients have nowhere to go.
func UDPServices(v View) []conntrack.UDPService {
	var out []conntrack.UDPService
	for i := range v.Ports {
		p := &v.Ports[i]
		if p.Port.Protocol != topology.UDP || !p.Any {
			continue
		}
		s := conntrack.UDPService{IPv6: p.ClusterIP.Is6(), NodePort: p.Port.NodePort, Origin: p.Origin()}
		for _, list := range [][]netip.Addr{{p.ClusterIP}, p.ExternalIPs, p.VIPs} {
			for _, a := range list {
				s.To = append(s.To, netip.AddrPortFrom(a, p.Port.Port))
			}
		}
		for _, e := range filter(endpointsOf(p.Port, s.IPv6), usable) {
			s.Endpoints = append(s.Endpoints, e.Addr)
		}
		out = append(out, s)
	}
	return out
}
