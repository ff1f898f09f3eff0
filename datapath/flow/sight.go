package flow

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Sight is what was seen of one flow beside its result.
type Sight struct {
	Packets []Packet // in the order in which they passed
	Entries []Entry
	Counts  []Count // only what counted something
}

// Tracks reports whether a namespace has an entry.
func (s Sight) Tracks(netns string) bool {
	return slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Netns == netns })
}

// Packet is a packet as it passes a link: what a capture shows there.
type Packet struct {
	Netns, Link string
	Out         bool // it leaves by the link, rather than comes in
	Protocol    string
	Source      netip.AddrPort // port 0: it has none, or the kernel chooses it
	Destination netip.AddrPort
	TTL         int     // or hop limit
	Around      []Outer // the tunnels that it is in, the outermost first
	Hidden      bool    // it is encrypted: nothing is known but what is around it
}

// Tunnel is what encapsulates a packet.
type Tunnel string

// The tunnels.
const (
	InVXLAN     Tunnel = "vxlan"
	InIPIP      Tunnel = "ipip"
	InUDP       Tunnel = "udp" // of a program
	InWireGuard Tunnel = "wireguard"
	InESP       Tunnel = "esp"
)

// Outer is the packet around another.
type Outer struct {
	Kind                Tunnel
	Source, Destination netip.AddrPort
	TTL                 int
}

// Entry is a connection as connection tracking knows it: the addresses of its packets, and of
// those that answer them.
type Entry struct {
	Netns                         string
	Protocol                      string
	Source, Destination           netip.AddrPort // port 0: the kernel chooses it
	ReplySource, ReplyDestination netip.AddrPort
	Replied                       bool
}

// Count is how many packets of the flow a rule counted.
type Count struct {
	Netns, Tool, Table, Chain, Rule string // as the tool lists the rule
	Packets                         uint64
	AtLeast                         bool // there may be more
}

// String is the packet in one line: out udp 10.0.0.1 > 10.0.0.2:80, ttl 63, in vxlan A > B.
func (p Packet) String() string {
	text := "in "
	if p.Out {
		text = "out "
	}
	if p.Hidden {
		text += "an encrypted packet"
	} else {
		text += fmt.Sprintf("%s %s > %s ttl %d", p.Protocol, end(p.Source), end(p.Destination), p.TTL)
	}
	for i := len(p.Around) - 1; i >= 0; i-- {
		text += fmt.Sprintf(" in %s %s > %s", p.Around[i].Kind, end(p.Around[i].Source), end(p.Around[i].Destination))
	}
	return text
}

// String is the entry in the order in which conntrack -L prints it.
func (e Entry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s > %s", e.Protocol, end(e.Source), end(e.Destination))
	if !e.Replied {
		b.WriteString(" [UNREPLIED]")
	}
	fmt.Fprintf(&b, " reply %s > %s", end(e.ReplySource), end(e.ReplyDestination))
	return b.String()
}

// end is an address and a port, if there is one.
func end(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}
