// Package walk follows a packet through a plan on paper: what a lab would do, without a
// kernel.
//
// # What it is for
//
// Every claim about a lab is answered twice, by a walk and by a probe with real
// packets. The walker therefore knows only the plan: it evaluates the rules, not what
// they were meant to do. It may import plan and flow, and nothing else of the project but
// its own packages network, memory and trace.
//
// # The path of a packet
//
//  1. A process dials: the host looks up a route, and takes the source address from
//     it (network/route.go). Without a route the process gets an error immediately.
//  2. OUTPUT: raw, connection tracking, mangle, nat, and if nat changed the
//     destination a new route, then filter, which still sees the first route's link
//     (stack.go).
//  3. POSTROUTING: mangle, nat. Then the link: lo leads back to the host itself, a
//     veth or bridge to the neighbour with the address of the next hop (bridge.go,
//     network/segment.go), a VXLAN device into a datagram that takes its own path
//     (vxlan.go).
//  4. A bridge forwards frames by their destination device and, where
//     bridge-nf-call-iptables is on, takes their packets through PREROUTING, FORWARD
//     and POSTROUTING of its host. A packet whose destination DNAT moved to another
//     port of the same bridge is not routed but bridged, which takes hairpin mode if
//     that is the port it arrived on.
//  5. PREROUTING: raw, connection tracking, mangle, nat. Then martian addresses and
//     rp_filter, and the route: INPUT (mangle, filter, nat) and a socket, or FORWARD
//     (mangle, filter) and on with 3.
//  6. The socket's answer, or the reset or ICMP error of the kernel or of a REJECT,
//     goes all the way back. Conntrack reverses NAT in the namespaces that did
//     it; a reply that bypasses them reaches the dialer from an address that
//     it never dialed, and the dialer times out.
//  7. On a stream a request and its response follow, since rules may treat an
//     established connection differently from its first packet; the trace shows them
//     only if they get lost.
//
// Where rules choose at random the walk is repeated for each choice, so that a
// prediction is a list of branches with their probabilities (walk.go). What rules
// remember from one connection to the next is a memory.State, an input and an output of
// walks.
//
// # What is modelled
//
// Base chains of nf_tables, by priority among the tables of iptables, with all
// expressions of package plan (nft.go, nftexpr.go); at equal priority iptables goes
// first, which the kernel does not guarantee.
//
// Proxies in user space and ingress controllers, each of which ends a connection and makes another
// from its own host (relay.go): a request over HTTP takes the route that the controller takes.
//
// Tables raw, mangle, nat and filter with all matches and targets of package plan
// (match.go, target.go); an unknown one makes the branch fail and is never skipped
// silently. Connection states, NAT of both kinds and of ICMP errors (conntrack.go).
// Sets. IPVS: its place in the hooks (virtual.go), schedulers and persistence
// (schedule.go), net.ipv4.vs.conntrack. Local routes. Neighbour entries, ARP and
// neighbour discovery, proxy_arp, arp_ignore. Forwarding entries of tunnels.
// ip_forward, rp_filter, accept_local, route_localnet, bridge-nf-call-iptables. Routes
// with several next hops. The size of what an upload over TCP sends, and path MTU discovery
// (size.go). Both IP families.
//
// # What is not modelled
//
// Time: nothing expires except through memory.State.After, and there are no retransmissions.
// Earlier connections: each walk starts with empty connection tables. Sizes of
// all other packets, those of tunnels included, and fragments. Policy routing, multicast and broadcast destinations, VLANs, spanning
// trees. Ports that the kernel chooses: they are 0 in a trace, and no two connections
// clash. Limits and losses: no rate limits (those of rules are never reached), no full
// tables. Programs (occupant.Exec): ports that the plan does not
// list, and what they answer (trace.Branch.Assumed).
//
// Where things are, hosts and links, routes and chains, is in package network; what a walk
// finds, predictions and their steps, in package trace; what rules remember, in package
// memory; package render shows a prediction. Start reading at walk.go, then stack.go. To
// add a match or target, see match.go and target.go; agreement_linux_test.go checks against
// the kernel everything that the other tests check on paper.
package walk
