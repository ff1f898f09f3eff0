// Package canal is flannel and Calico together: flannel carries packets between the nodes,
// as in vxlan, and Calico connects pods to their node, as in routed, and enforces network
// policies.
//
// A packet from pod 10.244.1.2 on node1 to pod 10.244.2.3 on node2:
//
//  1. The pod has a /32 address and a default route via 169.254.1.1, which a permanent
//     neighbour entry places at ee:ee:ee:ee:ee:ee: the other end of its link, cali and a
//     hash of the pod's name.
//  2. node1 checks that the source is the pod's own (rp_filter 1), takes the packet through
//     cali-FORWARD if there are policies, and looks up 10.244.2.3: 10.244.2.0/24 via
//     10.244.2.0 dev flannel.1 onlink. TTL 63; FLANNEL-POSTRTG returns for traffic between
//     pods.
//  3. A permanent neighbour entry has the MAC of 10.244.2.0, and a permanent forwarding
//     entry the node with that MAC: the frame goes into a UDP datagram to port 8472 of
//     192.168.0.12.
//  4. node2 takes the frame out and looks up 10.244.2.3: 10.244.2.3 dev cali… scope link.
//     TTL 62.
//
// Two pods of one node are routed, so a packet between them arrives with a TTL of 63.
// The policy style is calico unless the lab chooses another one.
//
// What it costs: per remote node one route, one neighbour and one FDB entry on every
// node; per pod one link, one route and one setting on its own node, and nothing on
// others. Each packet carries 50 bytes more (70 over IPv6).
//
// Why it is so: flannel had no network policies and Calico needed a network that learns
// its routes, so each did what the other lacked. Addresses come from the node's share of
// the pod CIDR, which flannel knows, not from Calico's pools. Therefore flannel's rules
// masquerade: they also rewrite what comes from outside to the pod of another node, and a
// node has no route that discards what is for addresses that no pod has. That goes to the
// default gateway.
//
// What breaks: between nodes what breaks in vxlan, with the same signs (a missing
// forwarding entry makes the dropped counter of flannel.1 climb); on a node what breaks in
// routed. While flannel is down pods of one node still reach each other, and policies
// still hold; while Calico is down connections work, and new policies are not enforced.
//
// Alternatives: vxlan with any policy style; routed or ipip, which are Calico alone.
package canal
