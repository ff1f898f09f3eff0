// Package vxlan is flannel's vxlan: frames between nodes travel inside UDP.
//
// A packet from pod 10.244.1.2 on node1 to pod 10.244.2.3 on node2:
//
//  1. The pod has one route, via 10.244.1.1. It resolves that address by ARP
//     and sends the frame to cni0, the bridge of node1, whose own address it is.
//  2. node1 looks up 10.244.2.3: 10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink.
//     It lowers the TTL to 63 and leaves the addresses alone; FLANNEL-POSTRTG
//     returns for traffic between pods. The address 10.244.2.0 is node2's end of
//     the tunnel; it matters only for the next step.
//  3. Which MAC has 10.244.2.0? A permanent neighbour entry says: that of
//     node2's flannel.1. There is no ARP, since the tunnel cannot broadcast.
//  4. Where is that MAC? A permanent forwarding entry (FDB) of flannel.1 says:
//     192.168.0.2. The frame goes into a UDP datagram to port 8472 of it, from a
//     source port that is a hash of the inner packet, so that flows spread over
//     equal paths.
//  5. node2 receives the datagram, takes the frame out, sees its own MAC and routes
//     the inner packet to its bridge. TTL 62. The pod receives a packet from
//     10.244.1.2, and its reply takes the same path back.
//
// What it costs: per remote node one route, one neighbour and one FDB entry on
// every node. Per pod nothing on other nodes. Each packet carries 50 bytes more (14
// inner Ethernet, 8 VXLAN, 8 UDP, 20 IPv4; 70 over IPv6), so pods have that much
// less MTU than the underlay.
//
// Why it is so: a tunnel can also learn, by flooding the first packet to all nodes,
// or ask a daemon for each unknown MAC and address. Both cost entries or packets per
// pod. Routing to one address per node needs entries per node only, which are known
// in advance.
//
// What breaks: without the FDB entry packets die in flannel.1, and its dropped
// counter climbs; without the neighbour the entry stays INCOMPLETE; with UDP 8472
// blocked, datagrams leave and none arrives.
//
// The datagrams need no common link: routers between subnets forward them like any
// other, and know no pods.
//
// The option direct_routing spares the header where two nodes share a link, as
// host-gw does; the tunnel then serves the others. Alternatives: host-gw, where all
// nodes share a link.
package vxlan
