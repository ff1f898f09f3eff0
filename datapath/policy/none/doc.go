// Package none is the policy style of a network that enforces no policies: Flannel alone, or
// Docker's bridge. The API server accepts them, and nothing reads them.
//
// # The path of a packet
//
//  1. The packet of a pod reaches FORWARD of its node, where services and the pod network
//     have their rules. There is none for policies.
//  2. The node of the destination has none either, and delivers it.
//  3. The answer takes the same way back: a pod that a policy isolates answers like any
//     other.
//
// # What it costs
//
// Nothing: a node has the same rules with a thousand policies as without any.
//
// # How to recognise it
//
// A policy that denies everything changes nothing, and kubectl describe shows it as if it
// did. The rules of the node have no chain with a name of it. The remedy is an agent that
// enforces policies beside the network, as canal puts Calico's beside Flannel.
package none
