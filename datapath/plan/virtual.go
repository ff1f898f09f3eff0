package plan

import "net/netip"

// VirtualServer is a service of IPVS: what arrives at an address and port goes to
// one of the real servers (ipvsadm(8)).
type VirtualServer struct {
	Addr      netip.AddrPort
	Proto     string   // tcp, udp or sctp
	Scheduler string   // rr, wrr, lc, wlc, sh, dh, sed, nq, mh, …
	Flags     []string // of the scheduler, in ipvsadm's words, sorted: mh-port
	// Persistent binds a client to its real server for so many seconds; 0: it does not.
	Persistent int
	Real       []RealServer // by address and port
	Origin     Origin
}

// RealServer is a destination of a virtual server, reached by rewriting addresses
// (masquerading, in the words of ipvsadm). One of weight 0 gets no new connections.
// A TCP destination that leaves the plan stays with weight 0 until its last
// connection is over.
type RealServer struct {
	Addr   netip.AddrPort
	Weight int
	Origin Origin
}
