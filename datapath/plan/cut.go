package plan

import (
	"fmt"
	"net/netip"
	"strings"
)

// Cut says which connections of a pod its policies allow in one direction, so that
// connections begun under other rules can be ended (live = "cut"). Filter rules let
// established connections pass; after the rules or sets of a namespace have changed,
// its connection tracking entries of the pod that no Allow covers are deleted, and the
// next packet meets the rules as a new connection.
//
// An entry is judged as the filter hooks see its packets: by its original source,
// before SNAT, and by its destination after DNAT. It belongs to the pod when that
// destination (Ingress) or that source is Pod. An entry that several cuts apply to has
// to be allowed by each.
//
// TCP packets from the middle of a connection count as the first of a new one, even
// replies, unless net.netfilter.nf_conntrack_tcp_loose is 0: a namespace with cuts
// needs that sysctl, and a rule for INVALID packets.
//
// The kernel holds nothing from which a cut could be read back, so plans are compared
// without it.
type Cut struct {
	Pod     netip.Addr `json:"pod"`
	Ingress bool       `json:"ingress"` // connections to the pod; otherwise from it
	Allow   []CutAllow `json:"allow"`
	Origin  Origin     `json:"origin,omitzero"`
}

// CutAllow is what one clause of a policy allows.
type CutAllow struct {
	Peer  []netip.Prefix `json:"peers,omitempty"`    // of the far end; nil: any. Empty but not nil: none
	Proto string         `json:"protocol,omitempty"` // tcp, udp, sctp or icmp (of either family); empty: any
	// First and Last are the allowed destination ports, inclusive; 0 and 0: any. A
	// protocol without ports has none.
	First uint16 `json:"firstPort,omitempty"`
	Last  uint16 `json:"lastPort,omitempty"`
}

// Covers reports whether a connection with peer at the far end, to a port of a protocol
// as in Proto, is allowed. The port is 0 for protocols without ports.
func (a *CutAllow) Covers(peer netip.Addr, proto string, port uint16) bool {
	if a.Proto != "" && a.Proto != proto {
		return false
	}
	if (a.First != 0 || a.Last != 0) && (port == 0 || port < a.First || port > a.Last) {
		return false
	}
	if a.Peer == nil {
		return true
	}
	for _, p := range a.Peer {
		if p.Contains(peer) {
			return true
		}
	}
	return false
}

// Allows reports whether any clause covers the connection.
func (c *Cut) Allows(peer netip.Addr, proto string, port uint16) bool {
	for i := range c.Allow {
		if c.Allow[i].Covers(peer, proto, port) {
			return true
		}
	}
	return false
}

func (c *Cut) words() string {
	direction := "from"
	if c.Ingress {
		direction = "to"
	}
	clauses := make([]string, 0, len(c.Allow))
	for i := range c.Allow {
		clauses = append(clauses, c.Allow[i].words())
	}
	allowed := strings.Join(clauses, "; ")
	if allowed == "" {
		allowed = "nothing"
	}
	return fmt.Sprintf("%s %s: allow %s", direction, c.Pod, allowed)
}

func (a *CutAllow) words() string {
	s := "any"
	if a.Proto != "" {
		s = a.Proto
	}
	switch {
	case a.First == 0 && a.Last == 0:
	case a.First == a.Last:
		s += fmt.Sprintf(" port %d", a.First)
	default:
		s += fmt.Sprintf(" ports %d-%d", a.First, a.Last)
	}
	if a.Peer == nil {
		return s
	}
	peers := make([]string, 0, len(a.Peer))
	for _, p := range a.Peer {
		peers = append(peers, p.String())
	}
	if len(peers) == 0 {
		return s + " with no peer"
	}
	return s + " with " + strings.Join(peers, ",")
}
