package walk

import (
	"cmp"
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// kind is what a packet is to connection tracking.
type kind uint8

const (
	opening kind = iota // SYN, or the first datagram
	reply               // SYN and ACK, or the answer to a datagram
	reset               // RST
	data                // later packets of an open connection
	failure             // an ICMP error
)

// packet is a packet in transit. Port 0 is a port chosen by the kernel: nothing here
// depends on its number.
type packet struct {
	kind     kind
	proto    flow.Protocol
	src, dst netip.AddrPort
	ttl      int
	code     Code        // of a failure
	quoted   *tuple      // of a failure: the packet that it is about, as seen by the sender of the error
	depth    int         // of tunnels around it
	inner    *packet     // in a tunnel: what it carries
	tunnel   flow.Tunnel // of inner
	hides    bool        // inner is encrypted
	size     int         // in bytes, without what is around it; 0: it fits every link

	// What belongs to the packet only inside one namespace.
	mark  uint32
	conn  *conn
	back  bool // in reply direction of conn
	state string
	port  *network.Link // of a bridge, on which it arrived
	// served is the connection of IPVS that has rewritten the packet (ipvs_property).
	served *served
	// via is the IPsec state by which it arrived.
	via *plan.XfrmState
}

// leaveNetns clears what does not cross a link.
func (p *packet) leaveNetns() {
	p.mark, p.conn, p.back, p.state, p.port, p.served, p.via = 0, nil, false, "", nil, nil, nil
}

func (p *packet) tuple() tuple { return tuple{p.proto, p.src, p.dst} }

func (p *packet) ipv6() bool { return p.dst.Addr().Is6() }

// shown is the packet as the trace shows it.
func (p *packet) shown() trace.Packet {
	s := trace.Packet{Protocol: string(p.proto), Src: p.src, Dst: p.dst, Mark: p.mark}
	if p.quoted != nil {
		s.Protocol = "icmp"
		if p.ipv6() {
			s.Protocol = "icmpv6"
		}
		s.About = string(p.code) + " for " + trace.Packet{Src: p.quoted.src, Dst: p.quoted.dst}.String()
	}
	return s
}

// Code is the code of an ICMP error, as iptables names it.
type Code string

// The codes. IPv6 has its own names.
const (
	NetUnreachable  Code = "icmp-net-unreachable"
	HostUnreachable Code = "icmp-host-unreachable"
	PortUnreachable Code = "icmp-port-unreachable"
	TimeExceeded    Code = "ttl-exceeded"
	NoRoute6        Code = "icmp6-no-route"
	AddrUnreachable Code = "icmp6-addr-unreachable"
	PortUnreach6    Code = "icmp6-port-unreachable"
	TCPReset        Code = "tcp-reset"
	TooBig          Code = "fragmentation-needed"
	TooBig6         Code = "packet-too-big"
)

// numbers are the type and code of the ICMP message (RFC 792, RFC 4443).
func (c Code) numbers() (kind, code uint8) {
	n := map[Code][2]uint8{NetUnreachable: {3, 0}, HostUnreachable: {3, 1}, "icmp-proto-unreachable": {3, 2}, PortUnreachable: {3, 3},
		"icmp-net-prohibited": {3, 9}, "icmp-host-prohibited": {3, 10}, "icmp-admin-prohibited": {3, 13}, TimeExceeded: {11, 0}, TooBig: {3, 4}, TooBig6: {2, 0},
		NoRoute6: {1, 0}, "icmp6-adm-prohibited": {1, 1}, AddrUnreachable: {1, 3}, PortUnreach6: {1, 4}}[c]
	return n[0], n[1]
}

// outcome is the dialer's outcome for an error.
func (c Code) outcome() flow.Outcome {
	switch c {
	case PortUnreachable, PortUnreach6, TCPReset, "icmp-port-unreach", "port-unreach", "tcp-rst", "icmp6-port-unreach":
		return flow.Refused
	}
	return flow.Unreachable
}

// family is the code as IPv6 names it, if that has one of its own.
func (c Code) family(ipv6 bool) Code {
	if !ipv6 {
		return c
	}
	return cmp.Or(map[Code]Code{NetUnreachable: NoRoute6, HostUnreachable: AddrUnreachable, PortUnreachable: PortUnreach6, TooBig: TooBig6}[c], c)
}
