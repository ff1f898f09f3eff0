// Package kuberouter is the policy style of kube-router: a firewall chain per pod, two
// chains per policy, ipsets, and a mark that says "some rule matched".
//
// # The path of a packet
//
//  1. FORWARD begins with KUBE-ROUTER-FORWARD, which jumps for each pod of the node
//     that a policy selects, by its address as destination or source, to the pod's
//     own KUBE-POD-FW-<hash>. A packet between two such pods passes both chains: only
//     a denial ends the traversal before the other pod's chain.
//  2. KUBE-POD-FW-<hash> first jumps to KUBE-NWPLCY-COMMON: INVALID packets are dropped, known
//     connections and errors about them pass, and so does neighbour discovery, which
//     bridged IPv6 packets would miss. What the node itself sends to the pod passes,
//     and what the pod sends to itself.
//  3. For each direction in which policies isolate the pod it jumps to their chains,
//     KUBE-NWPLCY-IN-<hash> for packets to the pod and KUBE-NWPLCY-EG-<hash> for
//     packets from it. A rule matches a set for the source, a set for the destination
//     and then the port; what matches gets mark 0x10000 and returns. For a direction
//     without policies KUBE-NWPLCY-DEFAULT sets the mark.
//  4. Without the mark the packet is logged (NFLOG, group 100, ten a minute) and
//     denied. With it, the mark is cleared for the next pod's chain and 0x20000 set.
//  5. Back in KUBE-ROUTER-FORWARD the packet goes on to the chains of services and of
//     the pod network.
//
// KUBE-ROUTER-OUTPUT does the same for what the node sends, and KUBE-ROUTER-INPUT for
// what a pod sends to its own node, where the lab enforces that; what is for a service
// of IPVS returns from it, and is judged at OUTPUT.
//
// # Sets
//
// KUBE-SRC-<hash> and KUBE-DST-<hash>, for IPv6 with inet6: before it: hash:ip for
// pods, hash:net for blocks, hash:ip,port for named ports. A change of labels changes
// members of sets and no rule, except for the chains of pods that become isolated or
// cease to be.
//
// # Cluster policies
//
// kube-router has none; this is how they fit in. KUBE-ADMPOL-IN-<hash> and -EG- come
// before the network policies, each skipped once a tier's rule decided: Accept sets
// 0x10000, which skips the network policies too; Pass sets 0x40000, which is cleared
// where they begin; Deny goes to KUBE-NWPLCY-DENY, the only final verdict. A
// direction that no network policy isolates jumps to KUBE-BASPOL-IN-<hash> and -EG-, then
// KUBE-NWPLCY-DEFAULT.
//
// # What it costs
//
// Per node 4 chains; per pod 1 chain of about 12 rules and 6 jumps, of which a packet
// tries all; per policy and direction 1 chain, per rule up to 3 sets and 2 rules for
// each kind of peer and each protocol. A packet's cost grows with the pods of the node
// that have policies and with the rules of the policies of its two pods.
//
// # Unlike kube-router
//
// Two of its faults are not copied. Older versions accepted in the policy's chain,
// so that a packet between two pods of a node met one of their chains only
// (kube-router issue 916). And it has one chain per policy for both directions, to
// which it jumps without matching the direction: an ingress rule can then let a packet
// out of a pod. Beyond that: blocks with exceptions are split, since a nomatch entry
// takes addresses from every block of its set; what passes is not accepted at the end
// of KUBE-ROUTER-FORWARD, since with kube-proxy on the same node the rules that reject
// connections to services without endpoints come after it; pings are not exempt; and
// pods that no policy selects have no chains.
package kuberouter
