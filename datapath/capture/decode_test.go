package capture

import (
	"net"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/netlab/netlab/datapath/flow"
)

var tunnels = Tunnels{8472: {Kind: flow.InVXLAN}, 8285: {Kind: flow.InUDP}, 8286: {Kind: flow.InUDP, Hides: true}, 51820: {Kind: flow.InWireGuard, Hides: true}}

const ipv4, ipv6 = uint16(layers.EthernetTypeIPv4), uint16(layers.EthernetTypeIPv6)

func packet(t testing.TB, list ...gopacket.SerializableLayer) []byte {
	t.Helper()
	for i, l := range list { // checksums are over the header before
		var ip gopacket.NetworkLayer
		for _, before := range list[:i] {
			if n, ok := before.(gopacket.NetworkLayer); ok {
				ip = n
			}
		}
		var err error
		switch l := l.(type) {
		case *layers.TCP:
			err = l.SetNetworkLayerForChecksum(ip)
		case *layers.UDP:
			err = l.SetNetworkLayerForChecksum(ip)
		case *layers.ICMPv6:
			err = l.SetNetworkLayerForChecksum(ip)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, list...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func v4(from, to string, ttl uint8, next layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, IHL: 5, TTL: ttl, Protocol: next, SrcIP: net.ParseIP(from), DstIP: net.ParseIP(to)}
}

func v6(from, to string, next layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 60, NextHeader: next, SrcIP: net.ParseIP(from), DstIP: net.ParseIP(to)}
}

func tcp(from, to layers.TCPPort) *layers.TCP {
	return &layers.TCP{SrcPort: from, DstPort: to, SYN: true}
}

func udp(from, to layers.UDPPort) *layers.UDP { return &layers.UDP{SrcPort: from, DstPort: to} }

func TestDecode(t *testing.T) {
	inner := packet(t, v4("10.244.1.2", "10.244.2.3", 62, layers.IPProtocolTCP), tcp(40000, 80))
	frame := &layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4}
	outer := v4("192.168.0.11", "192.168.0.12", 64, layers.IPProtocolUDP)
	for name, row := range map[string]struct {
		protocol uint16
		data     []byte
		want     string // "": nothing that belongs to a flow
	}{
		"tcp":                {ipv4, inner, "in tcp 10.244.1.2:40000 > 10.244.2.3:80 ttl 62"},
		"udp over IPv6":      {ipv6, packet(t, v6("fd00::1", "fd00::2", layers.IPProtocolUDP), udp(1000, 53), gopacket.Payload("?")), "in udp [fd00::1]:1000 > [fd00::2]:53 ttl 60"},
		"icmp":               {ipv4, packet(t, v4("10.0.0.1", "10.0.0.2", 64, layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0)}), "in icmp 10.0.0.1 > 10.0.0.2 ttl 64"},
		"echo over IPv6":     {ipv6, packet(t, v6("fd00::1", "fd00::2", layers.IPProtocolICMPv6), &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(128, 0)}), "in icmpv6 fd00::1 > fd00::2 ttl 60"},
		"neighbours":         {ipv6, packet(t, v6("fd00::1", "fd00::2", layers.IPProtocolICMPv6), &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(135, 0)}), ""},
		"groups":             {ipv4, packet(t, v4("10.0.0.1", "224.0.0.22", 1, layers.IPProtocolIGMP), gopacket.Payload(make([]byte, 8))), ""},
		"a later fragment":   {ipv4, packet(t, &layers.IPv4{Version: 4, IHL: 5, TTL: 9, Protocol: layers.IPProtocolUDP, FragOffset: 100, SrcIP: net.ParseIP("10.0.0.1"), DstIP: net.ParseIP("10.0.0.2")}, gopacket.Payload("x")), "in udp 10.0.0.1 > 10.0.0.2 ttl 9"},
		"vxlan":              {ipv4, packet(t, outer, udp(50000, 8472), &layers.VXLAN{ValidIDFlag: true, VNI: 1}, frame, gopacket.Payload(inner)), "in tcp 10.244.1.2:40000 > 10.244.2.3:80 ttl 62 in vxlan 192.168.0.11:50000 > 192.168.0.12:8472"},
		"its answer's port":  {ipv4, packet(t, outer, udp(8472, 50000), gopacket.Payload(inner)), "in udp 192.168.0.11:8472 > 192.168.0.12:50000 ttl 64"},
		"ipip":               {ipv4, packet(t, v4("192.168.0.11", "192.168.0.12", 62, layers.IPProtocolIPv4), gopacket.Payload(inner)), "in tcp 10.244.1.2:40000 > 10.244.2.3:80 ttl 62 in ipip 192.168.0.11 > 192.168.0.12"},
		"a program's tunnel": {ipv4, packet(t, outer, udp(8285, 8285), gopacket.Payload(inner)), "in tcp 10.244.1.2:40000 > 10.244.2.3:80 ttl 62 in udp 192.168.0.11:8285 > 192.168.0.12:8285"},
		"one that encrypts":  {ipv4, packet(t, outer, udp(8286, 8286), gopacket.Payload(inner)), "in an encrypted packet in udp 192.168.0.11:8286 > 192.168.0.12:8286"},
		"wireguard":          {ipv4, packet(t, outer, udp(51820, 51820), gopacket.Payload("\x04\x00\x00\x00")), "in an encrypted packet in wireguard 192.168.0.11:51820 > 192.168.0.12:51820"},
		"esp":                {ipv4, packet(t, v4("192.168.0.11", "192.168.0.12", 64, layers.IPProtocolESP), gopacket.Payload(make([]byte, 40))), "in an encrypted packet in esp 192.168.0.11 > 192.168.0.12"},
		"two tunnels":        {ipv4, packet(t, outer, udp(8285, 8285), v4("10.9.0.1", "10.9.0.2", 64, layers.IPProtocolIPv4), gopacket.Payload(inner)), "in tcp 10.244.1.2:40000 > 10.244.2.3:80 ttl 62 in ipip 10.9.0.1 > 10.9.0.2 in udp 192.168.0.11:8285 > 192.168.0.12:8285"},
		"cut short":          {ipv4, inner[:22], "in tcp 10.244.1.2 > 10.244.2.3 ttl 62"},
		"ARP":                {uint16(layers.EthernetTypeARP), inner, ""},
		"nothing":            {ipv4, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if p, ok := Decode(row.protocol, row.data, tunnels); ok {
				got = p.String()
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// Packets are those of strangers: none makes the decoder panic, or go on for ever.
func FuzzDecode(f *testing.F) {
	inner := packet(f, v4("10.244.1.2", "10.244.2.3", 62, layers.IPProtocolTCP), tcp(40000, 80))
	f.Add(true, inner)
	f.Add(true, packet(f, v4("1.1.1.1", "2.2.2.2", 64, layers.IPProtocolUDP), udp(8285, 8285), gopacket.Payload(inner)))
	f.Add(false, packet(f, v6("fd00::1", "fd00::2", layers.IPProtocolUDP), udp(1000, 8472), gopacket.Payload(inner)))
	f.Fuzz(func(t *testing.T, four bool, data []byte) {
		protocol := ipv6
		if four {
			protocol = ipv4
		}
		if p, ok := Decode(protocol, data, tunnels); ok && !p.Hidden && !p.Source.Addr().IsValid() {
			t.Errorf("%+v", p)
		}
	})
}
