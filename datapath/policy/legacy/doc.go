// Package legacy is the policy style that articles teach first: one chain of what is
// allowed, one that denies the rest. It ships for comparison with the others; it does
// not do all that the API requires.
//
// # The path of a packet
//
//  1. For each pod of the node that a policy isolates, FORWARD jumps to
//     KUBE-POD-SPECIFIC-FW-CHAIN: for bridged packets, and for all packets to the
//     pod's address; for a pod that is isolated at egress, for packets from it.
//  2. KUBE-POD-SPECIFIC-FW-CHAIN accepts known connections and jumps to
//     KUBE-NWPLCY-CHAIN; what returns from there is denied.
//  3. KUBE-NWPLCY-CHAIN has a rule for every source, destination and port that some
//     policy allows, and accepts what matches one.
//
// # What it costs
//
// A rule per pair of addresses and port: policies that select many pods on both sides
// grow with the product, every packet tries all rules of the node, and every new pod
// adds rules. There are no sets.
//
// # What is wrong with it
//
// An ACCEPT in KUBE-NWPLCY-CHAIN ends the traversal. Between two pods of one
// node, where both sides are judged at one hook, it lets in what the source may send
// although the destination is isolated, and the other way around: kube-router, which
// began like this, had it as issue 916. Both directions share the chain, so an ingress
// rule also lets packets out. Between nodes each node judges its own side, and the
// results are right.
//
// There is no place for cluster policies. What a pod sends to its own node and the
// node to its pods is not filtered, whatever host_egress says.
package legacy
