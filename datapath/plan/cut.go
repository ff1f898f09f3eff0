package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
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
	return a.Peer == nil || slices.ContainsFunc(a.Peer, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// Allows reports whether any clause covers the connection.
func (c *Cut) Allows(peer netip.Addr, proto string, port uint16) bool {
	return slices.ContainsFunc(c.Allow, func(a CutAllow) bool { return a.Covers(peer, proto, port) })
}

func (c *Cut) words() string {
	direction := "from"
	if c.Ingress {
		direction = "to"
	}
	allowed := strings.Join(texts(c.Allow), "; ")
	return fmt.Sprintf("%s %s: allow %s", direction, c.Pod, cmp.Or(allowed, "nothing"))
}

// String is the clause in words.
func (a CutAllow) String() string {
	s := cmp.Or(a.Proto, "any")
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
	return s + " with " + cmp.Or(strings.Join(texts(a.Peer), ","), "no peer")
}

func texts[T fmt.Stringer](list []T) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		out = append(out, x.String())
	}
	return out
}
