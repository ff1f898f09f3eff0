package conntrack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/coder"
	"github.com/netlab/netlab/datapath/plan/origin"
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
	Allow   []Allow    `json:"allow"`
	Origin  origin.Ref `json:"origin,omitzero"`
}

// Allow is what one clause of a policy allows.
type Allow struct {
	Peer  []netip.Prefix `json:"peers,omitempty"`    // of the far end; nil: any. Empty but not nil: none
	Proto string         `json:"protocol,omitempty"` // tcp, udp, sctp or icmp (of either family); empty: any
	// First and Last are the allowed destination ports, inclusive; 0 and 0: any. A
	// protocol without ports has none.
	First uint16 `json:"firstPort,omitempty"`
	Last  uint16 `json:"lastPort,omitempty"`
}

// Covers reports whether a connection with peer at the far end, to a port of a protocol
// as in Proto, is allowed. The port is 0 for protocols without ports.
func (a *Allow) Covers(peer netip.Addr, proto string, port uint16) bool {
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
	return slices.ContainsFunc(c.Allow, func(a Allow) bool { return a.Covers(peer, proto, port) })
}

// Words describes the cut, for plans.
func (c *Cut) Words() string {
	direction := "from"
	if c.Ingress {
		direction = "to"
	}
	allowed := strings.Join(texts(c.Allow), "; ")
	return fmt.Sprintf("%s %s: allow %s", direction, c.Pod, cmp.Or(allowed, "nothing"))
}

// String is the clause in words.
func (a Allow) String() string {
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

// MarshalJSON lists what is allowed, even if it is nothing.
func (c Cut) MarshalJSON() ([]byte, error) {
	type bare Cut
	c.Allow = append([]Allow{}, c.Allow...)
	return json.Marshal(bare(c))
}

// MarshalJSON says by name that any peer is allowed.
func (a Allow) MarshalJSON() ([]byte, error) {
	type bare Allow
	return json.Marshal(struct {
		Any bool `json:"anyPeer,omitempty"`
		bare
	}{a.Peer == nil, bare(a)})
}

// CodeCut reads or writes a cut.
func CodeCut(c *coder.Coder, x *Cut) {
	c.Origin(&x.Origin)
	c.Addr(&x.Pod)
	c.Bool(&x.Ingress)
	coder.List(c, &x.Allow, codeAllow)
}

func codeAllow(c *coder.Coder, a *Allow) {
	limited := a.Peer != nil // nil and empty mean the opposite of each other
	c.Bool(&limited)
	coder.List(c, &a.Peer, (*coder.Coder).Prefix)
	if limited && a.Peer == nil {
		a.Peer = []netip.Prefix{}
	}
	coder.String(c, &a.Proto)
	coder.Int(c, &a.First)
	coder.Int(c, &a.Last)
}
