package capture

import (
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/netlab/netlab/datapath/flow"
)

// Tunnels are the UDP ports at which tunnels receive.
type Tunnels map[uint16]Tunnel

// Tunnel is what is in the datagrams for a port.
type Tunnel struct {
	Kind  flow.Tunnel
	Hides bool // it encrypts
}

// maxNested is how many packets in each other are decoded.
const maxNested = 8

// Decode reads a packet from its IP header on; protocol is that of the link layer (ETH_P_IP). It
// returns false for what is no IP packet, for neighbour discovery and for IGMP.
func Decode(protocol uint16, data []byte, tunnels Tunnels) (p flow.Packet, ok bool) {
	next := layerOf(protocol)
	for range maxNested {
		if next == gopacket.LayerTypeZero {
			return p, false
		}
		d := decoder{Packet: p, tunnels: tunnels}
		d.read(gopacket.NewPacket(data, next, gopacket.DecodeOptions{NoCopy: true}))
		if p = d.Packet; d.inner == nil {
			return p, d.addr.source.IsValid() && !d.housekeeping
		}
		data, next = d.inner, d.next
	}
	return p, false
}

func layerOf(protocol uint16) gopacket.LayerType {
	switch protocol {
	case uint16(layers.EthernetTypeIPv4):
		return layers.LayerTypeIPv4
	case uint16(layers.EthernetTypeIPv6):
		return layers.LayerTypeIPv6
	}
	return gopacket.LayerTypeZero
}

// decoder reads the layers of a packet up to the first that the library does not open by itself.
type decoder struct {
	flow.Packet
	tunnels      Tunnels
	addr         struct{ source, destination netip.Addr }
	inner        []byte // that is to be read next; nil: nothing
	next         gopacket.LayerType
	housekeeping bool
}

func (d *decoder) read(packet gopacket.Packet) {
	for _, l := range packet.Layers() {
		switch l := l.(type) {
		case *layers.IPv4:
			d.header(l.SrcIP, l.DstIP, int(l.TTL), ipProtocol(l.Protocol))
		case *layers.IPv6:
			d.header(l.SrcIP, l.DstIP, int(l.HopLimit), ipProtocol(l.NextHeader))
		case *layers.TCP:
			d.ports("tcp", uint16(l.SrcPort), uint16(l.DstPort))
			return
		case *layers.SCTP:
			d.ports("sctp", uint16(l.SrcPort), uint16(l.DstPort))
			return
		case *layers.ICMPv4:
			d.ports("icmp", 0, 0)
			return
		case *layers.ICMPv6:
			d.ports("icmpv6", 0, 0)
			d.housekeeping = neighbourly(l.TypeCode.Type())
			return
		case *layers.IPSecESP:
			d.ports("esp", 0, 0)
			d.wrap(flow.InESP)
			d.Hidden = true
			return
		case *layers.UDP:
			d.ports("udp", uint16(l.SrcPort), uint16(l.DstPort))
			d.datagram(l.Payload, d.tunnels[uint16(l.DstPort)])
			return
		}
	}
}

// neighbourly reports whether a message of ICMPv6 is about neighbours, routers or listeners of
// groups (RFC 4861, RFC 2710, RFC 3810).
func neighbourly(kind uint8) bool { return kind >= 130 && kind <= 137 || kind == 143 }

// header takes an IP header. One that is already known is around it.
func (d *decoder) header(source, destination []byte, ttl int, protocol string) {
	if d.addr.source.IsValid() {
		d.wrap(flow.InIPIP)
	}
	d.addr.source, _ = netip.AddrFromSlice(source)
	d.addr.destination, _ = netip.AddrFromSlice(destination)
	d.TTL = ttl
	d.housekeeping = protocol == igmp
	d.ports(protocol, 0, 0)
}

func (d *decoder) ports(protocol string, source, destination uint16) {
	d.Protocol = protocol
	d.Source, d.Destination = netip.AddrPortFrom(d.addr.source, source), netip.AddrPortFrom(d.addr.destination, destination)
}

// wrap moves what is known so far around what comes.
func (d *decoder) wrap(kind flow.Tunnel) {
	d.Around = append(d.Around, flow.Outer{Kind: kind, Source: d.Source, Destination: d.Destination, TTL: d.TTL})
	d.Protocol, d.Source, d.Destination, d.TTL = "", netip.AddrPort{}, netip.AddrPort{}, 0
}

// datagram looks into what a tunnel sent.
func (d *decoder) datagram(payload []byte, t Tunnel) {
	if t.Kind == "" || len(payload) == 0 {
		return
	}
	switch {
	case t.Hides:
		d.Hidden = true
	case t.Kind == flow.InVXLAN:
		d.inner, d.next = payload, layers.LayerTypeVXLAN
	case payload[0]>>4 == 4:
		d.inner, d.next = payload, layers.LayerTypeIPv4
	case payload[0]>>4 == 6:
		d.inner, d.next = payload, layers.LayerTypeIPv6
	default:
		return
	}
	d.wrap(t.Kind)
}

// igmp is about the groups that hosts listen to (RFC 3376).
const igmp = "igmp"

// ipProtocol is the protocol of a packet that has no header of it, such as a later fragment.
func ipProtocol(p layers.IPProtocol) string {
	switch p {
	case layers.IPProtocolTCP:
		return "tcp"
	case layers.IPProtocolUDP:
		return "udp"
	case layers.IPProtocolSCTP:
		return "sctp"
	case layers.IPProtocolICMPv4:
		return "icmp"
	case layers.IPProtocolICMPv6:
		return "icmpv6"
	case layers.IPProtocolIGMP:
		return igmp
	}
	return ""
}
