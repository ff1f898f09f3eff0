// Package walk follows a packet through a plan on paper: what a lab does, without a
// kernel.
//
// # What it is for
//
// Every claim about a lab is answered twice, by a walk and by a probe with real
// packets. The walker therefore knows nothing but the plan: it judges the rules, not
// what they were meant to do. It may import plan and flow, and nothing else of the
// project.
//
// # The way of a packet
//
//  1. A process dials: the host looks up a route, and takes the source address from
//     it (route.go). Without a route the process learns so at once.
//  2. OUTPUT: raw, connection tracking, mangle, nat, and if nat changed the
//     destination a new route, then filter, which still sees the first route's link
//     (stack.go).
//  3. POSTROUTING: mangle, nat. Then the link: lo leads back to the host itself, a
//     veth or bridge to the neighbour with the address of the next hop (bridge.go,
//     segment.go), a VXLAN device into a datagram that makes a way of its own
//     (vxlan.go).
//  4. A bridge passes frames on by the device that they are for, and where
//     bridge-nf-call-iptables is on, takes their packets through PREROUTING, FORWARD
//     and POSTROUTING of its host. A packet whose destination DNAT moved to another
//     port of the same bridge is not routed but sent there, which takes hairpin where
//     that is the port it came from.
//  5. PREROUTING: raw, connection tracking, mangle, nat. Then martian addresses and
//     rp_filter, and the route: INPUT (mangle, filter, nat) and a socket, or FORWARD
//     (mangle, filter) and on with 3.
//  6. The socket's answer, or the reset or ICMP error of the kernel or of a REJECT,
//     goes all the way back. Connections undo their NAT in the namespaces that did
//     it; an answer that does not pass there reaches the dialer with an address that
//     it never dialed, and the dialer waits in vain.
//  7. On a stream a question and its answer follow, since rules may treat an
//     established connection unlike its first packet; the trace shows them only if
//     they get lost.
//
// Where rules choose at random a walk is made again for each choice, so that a
// prediction is a list of branches with their probabilities (walk.go). What rules
// remember from one connection to the next is a State, an input and an output of
// walks (state.go).
//
// # What is modelled
//
// Base chains of nf_tables, by priority among the tables of iptables, with all
// expressions of package plan (nft.go, nftexpr.go); of two at one priority iptables goes
// first, which the kernel does not promise.
//
// Tables raw, mangle, nat and filter with all matches and targets of package plan
// (match.go, target.go); one that is unknown makes the branch fail and never passes
// in silence. Connection states, NAT of both kinds and of ICMP errors
// (conntrack.go). Sets (sets.go). IPVS: its place in the hooks (virtual.go),
// schedulers and persistence (schedule.go), net.ipv4.vs.conntrack. Local routes.
// Neighbour entries, ARP and neighbour discovery, proxy_arp, arp_ignore. Forwarding
// entries of tunnels. ip_forward, rp_filter, accept_local, route_localnet,
// bridge-nf-call-iptables. Routes with several next hops. Both IP families.
//
// # What is not
//
// Time: nothing expires but what State.After says, and retransmissions do not exist.
// Earlier connections: each walk begins with empty connection tables. Sizes: MTU and
// fragments. Policy routing, multicast and broadcast destinations, VLANs, spanning
// trees. Ports that the kernel chooses: they are 0 in a trace, and no two
// connections clash. Limits and losses: no rate limit (those of rules never set in), no full table.
// Programs (plan.Exec): nobody knows what they listen on.
//
// Start reading at walk.go, then stack.go. To add a match or target, see match.go
// and target.go; agreement_linux_test.go asks the kernel everything that the other
// tests ask on paper.
package walk
