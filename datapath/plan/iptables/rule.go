package iptables

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/origin"
)

// Table is one iptables table of one IP family, with every chain that the plan
// owns: all user-defined chains of the table, and the rules of built-in chains.
type Table struct {
	IPv6   bool
	Name   string // nat, filter, mangle
	Chains []Chain
}

// Chain is an iptables chain.
type Chain struct {
	Name   string
	Policy string // ACCEPT or DROP for a built-in chain; empty for a user-defined one
	Rules  []Rule
	// Ahead is how many of the rules of a built-in chain stay before those that others insert at
	// its head: those for services, and those of an agent of the scenario.
	Ahead int
}

// Join adds the rules of a chain of the same name: those that stay ahead before, the others after.
func (c *Chain) Join(other Chain) {
	c.Rules = slices.Concat(other.Rules[:other.Ahead], c.Rules, other.Rules[other.Ahead:])
	c.Ahead += other.Ahead
}

// Rule is one iptables rule: matches in the order in which they are written, and
// a target. A rule without a target only counts.
type Rule struct {
	Matches []Match
	Target  Target
	Origin  origin.Ref // of the object that the rule serves
	// Raw is the rule as iptables-save printed it, after the chain's name; rules read
	// from the kernel have only this.
	Raw string
}

// Match is one condition of a rule. The types below implement it.
type Match interface {
	// appendMatch appends the match in iptables-restore syntax, after a space; if save is
	// set, as iptables-save prints it.
	appendMatch(b []byte, save bool) []byte
}

// The conditions that rules use.
type (
	// Src matches the packet's source address.
	Src struct {
		Prefix netip.Prefix
		Not    bool
	}
	// Dst matches the packet's destination address.
	Dst struct {
		Prefix netip.Prefix
		Not    bool
	}
	// InIf matches the interface on which the packet arrived.
	InIf struct {
		Name string
		Not  bool
	}
	// OutIf matches the interface that the packet leaves by.
	OutIf struct {
		Name string
		Not  bool
	}
	// Proto matches the transport protocol, and for tcp, udp and sctp loads its
	// extension (-m tcp -p tcp).
	Proto struct {
		Name  string
		Plain bool // without its extension, which rules about ports need
	}
	// DPort matches the destination port; a Proto must come before it.
	DPort struct{ Port uint16 }
	// SPort matches the source port; a Proto must come before it.
	SPort struct{ Port uint16 }
	// AddrType matches the type of an address (LOCAL) in this namespace's routing
	// table; empty fields match anything.
	AddrType struct {
		Src, Dst string
		NotSrc   bool // the source is of any other type
	}
	// Mark matches the packet's mark under a mask; a zero mask is all 32 bits.
	Mark struct {
		Value, Mask uint32
		Not         bool
	}
	// CTState matches the connection tracking state: NEW, ESTABLISHED, RELATED, INVALID, DNAT.
	CTState struct {
		States []string
		Not    bool
	}
	// State matches one state as CTState does, in the words of older versions: NEW,
	// ESTABLISHED, RELATED or INVALID.
	State struct{ State string }
	// Random matches with a probability between 0 and 1.
	Random struct{ Probability float64 }
	// Recent updates or looks up a named list of source addresses that the namespace
	// holds (xt_recent). It holds at most 100 of them.
	Recent struct {
		List string
		// Set records the address and the time, and always matches. Otherwise it
		// matches recorded addresses.
		Set     bool
		Seconds int  // only records that are not older; 0: any
		Reap    bool // remove older records
		IPv6    bool // of an IPv6 table: iptables-save prints the mask of an address
	}
	// MatchSet looks up parts of the packet in an ipset: Parts are src and dst, one for
	// each part of the set's type, separated by commas (src,dst).
	MatchSet struct {
		Set   string
		Parts string
		Not   bool
	}
	// DPorts matches a range of destination ports, inclusive; a Proto must come before
	// it.
	DPorts struct{ First, Last uint16 }
	// MultiPort matches destination ports in a list of ports and ranges as iptables
	// writes it (80,443,1000:2000), of at most 15 ports, where a range counts as two; a
	// Proto must come before it.
	MultiPort struct{ Ports string }
	// Physdev matches bridged packets by the bridge's ports. A name may end in +.
	Physdev struct {
		In, Out string
		Bridged bool // it leaves by a port of the same bridge, without being routed
	}
	// PhysdevIsIn matches packets that arrived on a bridge port, or did not.
	PhysdevIsIn struct{ Not bool }
	// IPVS matches packets that IPVS sends to a real server, by the virtual server that
	// they were for (xt_ipvs).
	IPVS struct {
		Addr  netip.Addr
		Proto string // tcp, udp or sctp
		Port  uint16
	}
	// Limit matches packets up to a rate (10/min), after a burst.
	Limit struct {
		Rate  string
		Burst int // 0: 5, the kernel's default
	}
	// ICMPType matches ICMP messages of one type, and of one code unless AnyCode.
	ICMPType struct {
		Type, Code uint8
		AnyCode    bool
		IPv6       bool
	}
	// NFAcct counts the packet in an accounting object that the namespace holds by name
	// (xt_nfacct). It matches every packet.
	NFAcct struct {
		Object string
		// Alone says that the rule is there only to count: without it the next rules do
		// the same to its packets.
		Alone bool
	}
	// Comment names the object that the rule serves. It matches every packet.
	Comment struct{ Text string }
)

// Target is what a rule does with a packet that it matches. The types below implement
// it.
type Target interface {
	// appendTarget appends the target, from -j on, after a space; if save is set, as
	// iptables-save prints it.
	appendTarget(b []byte, save bool) []byte
}

// The targets that rules use.
type (
	// Jump continues in a chain and returns after it.
	Jump struct{ Chain string }
	// Goto continues in a chain and returns to where the current one was called from.
	Goto struct{ Chain string }
	// Return goes back to the calling chain.
	Return struct{}
	// Accept ends the table's evaluation: the packet passes.
	Accept struct{}
	// Drop discards the packet silently.
	Drop struct{}
	// Reject discards the packet and notifies the sender. With is icmp-port-unreachable
	// when empty; rules of IPv6 tables must say icmp6-port-unreachable.
	Reject struct{ With string }
	// DNAT rewrites the destination of the connection.
	DNAT struct{ To netip.AddrPort }
	// Redirect rewrites the destination to a port of the namespace itself: at the first
	// address of the interface that the packet arrived on.
	Redirect struct{ Port uint16 }
	// Masquerade rewrites the source of the connection to the address of the
	// interface that it leaves by.
	Masquerade struct{ RandomFully bool }
	// OrMark sets bits of the packet's mark.
	OrMark struct{ Bits uint32 }
	// SetMark replaces the bits of the packet's mark that are in Mask by those of Value.
	SetMark struct{ Value, Mask uint32 }
	// NFLog logs the packet to user space, and continues.
	NFLog struct {
		Group  uint16
		Prefix string
	}
	// NoTrack takes the packet out of connection tracking; only in the table raw.
	NoTrack struct{}
	// XorMark flips bits of the packet's mark.
	XorMark struct{ Bits uint32 }
)
