// Package nftables is the policy style of nf_tables: one table per node, verdict maps that
// find a pod's chain by its address, and named sets of addresses and ports.
//
// # The path of a packet
//
//  1. The base chain forward comes before iptables' FORWARD (priority -10), and sees
//     routed packets as well as bridged ones: br_netfilter passes those to the same
//     hook. Known connections and errors about them are accepted, and so is neighbour
//     discovery. Accept ends this base chain only: the packet goes on to the chains of
//     services and of the pod network.
//  2. A packet that a pod sends to itself through a service has the pod's address twice,
//     and is accepted.
//  3. The verdict map egress4 (or egress6) leads from the source address to the chain of
//     the sender, ingress4 from the destination to that of the receiver. Each costs one
//     lookup, however many pods there are. A pod that no policy selects has no element.
//  4. A pod's chain drops INVALID packets, clears its marks, jumps to the chains of the
//     Admin tier until one decides, then to those of the network policies if they isolate
//     the pod, else to those of the Baseline tier. A rule that accepts sets mark 0x10000 and returns,
//     one that passes sets 0x20000, one that denies goes to the chain deny. A marked
//     packet returns to the base chain, and on to the other pod's chain.
//  5. A rule matches a set for the other end and, unless it is about one port or range, a
//     set for protocol and port. Sets of blocks and ranges are interval sets. A named
//     port is an element of address, protocol and port together.
//
// Where IPVS serves the services, the packets that it sends leave by OUTPUT; the base
// chain output uses the same maps for what the node did not originate. With host_egress
// the base chain input does so for what pods send to their own node, except for what
// IPVS serves there.
//
// # What it costs
//
// Per node 1 table and up to 3 base chains; per pod 2 elements and 2 chains of a few rules;
// per policy and direction 1 chain, per rule 1 rule for each IP family and kind of
// ports, and up to 3 sets. A change of labels changes elements. All of a change is one
// transaction.
//
// A packet's cost grows with the rules of the policies of its two pods, and with nothing
// else. Anonymous sets in rules would do the same with fewer names, but the kernel takes
// more than linear time to load many of them, and changing one replaces the rule.
//
// # Alternatives
//
// Dispatch by the name of the link (iifname, oifname) would catch packets with forged
// sources, but in FORWARD the link is the bridge. Verdict maps of address, protocol and
// port together would need one lookup for a whole policy, and an element for each pair
// of peer and port.
package nftables
