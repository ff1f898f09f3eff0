package flow

import "net/netip"

// Timestamps is the length of TCP's timestamp option in bytes, padded (RFC 7323).
const Timestamps = 12

// Headers is the length in bytes of the headers of IP and TCP in front of the data of a segment
// to an address, with the timestamp option that Linux sends.
func Headers(to netip.Addr) int {
	const ipv4, ipv6, tcp = 20, 40, 20
	if to.Is6() {
		return ipv6 + tcp + Timestamps
	}
	return ipv4 + tcp + Timestamps
}
