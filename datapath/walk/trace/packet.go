package trace

import "net/netip"

// Packet is a packet as the trace shows it. A source port that is chosen by the
// kernel is 0.
type Packet struct {
	Protocol string         `json:"protocol"`
	Src      netip.AddrPort `json:"src"`
	Dst      netip.AddrPort `json:"dst"`
	Mark     uint32         `json:"mark,omitempty"`
	// About is the packet that an ICMP error is about.
	About string `json:"about,omitempty"`
}

// String is the packet in one line: 10.0.0.1 > 10.96.0.1:80.
func (p Packet) String() string {
	text := arrow(p.Src, p.Dst)
	if p.About != "" {
		text = p.Protocol + " " + text + " (" + p.About + ")"
	}
	return text
}

func arrow(src, dst netip.AddrPort) string { return Endpoint(src) + " > " + Endpoint(dst) }

// Endpoint is an address and a port, if that is known.
func Endpoint(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}
