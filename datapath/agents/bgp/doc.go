// Package bgp is a BGP speaker: what bird does on Calico's nodes, as a library inside the
// engine.
//
// A Speaker (speaker.go) is one host's. It listens on TCP port 179 of its network namespace,
// and has a session (session.go) with each peer; what it knows is a bgp.Table of the plan's
// vocabulary, and the best paths become routes of the host. message.go turns paths into
// messages and back, with gobgp's package for the format on the wire.
//
// gobgp's own server is not used: it opens its connections on goroutines of its own, which
// run in whatever network namespace their thread is in, and takes none that others have
// opened; and it waits two seconds before it connects at all. Its format package needs
// nothing but the standard library; the server needs some 190 packages besides.
//
// Who connects: of two peers the one with the higher address, always. Real speakers both do,
// and close one connection if two collide (RFC 4271, section 6.8); here there is nothing to
// resolve, and a mesh of 20 nodes is up in a third of a second. It also means that a firewall
// in front of port 179 of one node ends the sessions in which that node is listening, and no
// others: real speakers would come up the other way round.
//
// Timers: the hold time is 3 seconds, the least that RFC 4271 allows, with a keepalive
// message every second; bird's is 240. After so long without a message a session is down, and
// what it has told is withdrawn. Whoever connects tries again after 5 milliseconds, later
// every quarter of a second. There is no graceful restart.
//
// A speaker has one goroutine that listens, one for each session in which it connects, and
// one more for each that is up, or two where the peer has connected. It can be opened only on
// a thread inside the namespace. Closed, it leaves its routes behind, as a killed daemon does;
// routes are taken back when a session ends.
package bgp
