// Package ipip is Calico's IP-in-IP: pods and routes as in routed, and a tunnel between the
// nodes, so that what is between them need not know the pods.
//
// A packet from pod 10.244.1.2 on node1 to pod 10.244.2.3 on node2:
//
//  1. The pod sends it to its gateway 169.254.1.1, which is the node's end of its link.
//  2. node1 looks up 10.244.2.3: 10.244.2.0/24 via 192.168.0.12 dev tunl0 proto bird onlink.
//     It lowers the TTL to 63 and leaves both addresses alone: both are in the set of all
//     pools.
//  3. tunl0 has no far end of its own. It puts the packet into another one, of IP protocol
//     4, to the gateway of the route: 192.168.0.11 > 192.168.0.12. There is no inner Ethernet
//     header and no port, hence 20 bytes.
//  4. node2 receives it as its own, finds the inner packet and treats it as if it had
//     arrived on tunl0: 10.244.2.3 dev cali… scope link. TTL 62.
//
// The first address of each node's block, 10.244.1.0, belongs to its tunl0: processes of
// the node dial pods from it. With the option mode = "CrossSubnet" only packets between
// nodes that are not on one link go through the tunnel; the others are routed as they are.
//
// What it costs: what routed costs, and one device per node. Each packet carries 20 bytes more
// (VXLAN: 50), so pods have an MTU of 1480. There is no neighbour or forwarding entry per
// remote node. IPv6 blocks are routed without a tunnel, as Calico does.
//
// Why it is so: Calico began with networks whose routers would not learn pod routes. IPIP
// is the smallest wrapper that IP has. It has no ports, so routers cannot spread the flows
// between two nodes over several paths, and some clouds drop the protocol: there VXLAN is
// the alternative.
//
// The device: the kernel module creates a down tunl0 in every new network namespace, which
// cannot be deleted; it is taken over (net.core.fb_tunnels_only_for_init_net says whether it
// does). It is a node's first device, so its address is the source of what a node sends by
// links that have none: to its own pods.
//
// With a bgp block the routes are learned, as in routed: a speaker takes the tunnel for those
// next hops for which the mode does.
//
// What breaks: a firewall that drops protocol 4 loses everything between nodes, in
// silence, while nodes and pods of one node still work. With tunl0 down the routes vanish,
// and packets leave for the default gateway. Pods with an MTU of 1500 send packets that tunl0 answers with
// "fragmentation needed"; without that message, large transfers hang.
//
// Alternatives: routed, where the network knows the blocks; vxlan; wireguard and ipsec, which
// also encrypt.
package ipip
