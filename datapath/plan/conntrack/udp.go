package conntrack

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netlab/netlab/datapath/plan/coder"
	"github.com/netlab/netlab/datapath/plan/origin"
)

// UDPService is a service port whose stale connection tracking entries have to be
// deleted when its rules change. Other protocols notice that the far end is gone; a UDP
// client keeps using the translation of its first datagram, to an endpoint that no
// longer exists, or none from before there was one. So entries are deleted whose
// original destination is one of To, or any address with NodePort, and whose reply does
// not come from one of Endpoints (CleanStaleEntries in kubernetes pkg/proxy/conntrack).
//
// The kernel holds nothing from which it could be read back, so plans are compared
// without it.
type UDPService struct {
	IPv6     bool             `json:"-"`
	To       []netip.AddrPort `json:"to"`                 // cluster IP, load balancer and external addresses
	NodePort uint16           `json:"nodePort,omitempty"` // 0: none
	// Endpoints are all serving ones, regardless of traffic policies and topology.
	// There is at least one.
	Endpoints []netip.AddrPort `json:"endpoints"`
	Origin    origin.Ref       `json:"origin,omitzero"`
}

// Words describes the service, for plans.
func (s *UDPService) Words() string {
	to := texts(s.To)
	if s.NodePort != 0 {
		to = append(to, fmt.Sprintf("node port %d", s.NodePort))
	}
	return strings.Join(to, ", ") + " is served by " + strings.Join(texts(s.Endpoints), ", ")
}

func texts[T fmt.Stringer](list []T) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		out = append(out, x.String())
	}
	return out
}

// CodeUDP reads or writes a service.
func CodeUDP(c *coder.Coder, s *UDPService) {
	c.Origin(&s.Origin)
	coder.List(c, &s.To, (*coder.Coder).AddrPort)
	coder.Int(c, &s.NodePort)
	c.Bool(&s.IPv6)
	coder.List(c, &s.Endpoints, (*coder.Coder).AddrPort)
}
