// Package hostgw is flannel's host-gw: each node is the gateway to its own pods,
// and every other node has a plain route to it.
//
// A packet from pod 10.244.1.2 on node1 to pod 10.244.2.3 on node2:
//
//  1. The pod has one route, via 10.244.1.1. It resolves that address by ARP
//     and sends the frame to cni0, the bridge of node1, whose own address it is.
//  2. node1 looks up 10.244.2.3: 10.244.2.0/24 via 192.168.0.2 dev eth0. It lowers
//     the TTL to 63 and leaves both addresses as they are; FLANNEL-POSTRTG returns
//     for traffic between pods.
//  3. node1 resolves 192.168.0.2 by ARP and sends the packet on the underlay as it is: the
//     addresses are the pods', the MACs are the nodes'.
//  4. node2 looks up 10.244.2.3: its own bridge. TTL 62. The pod receives a packet
//     from 10.244.1.2, and its reply takes the same path back.
//
// What it costs: per remote node one route on every node, and an ARP entry while
// there is traffic. Per pod nothing on other nodes. No header, so pods have the
// underlay's MTU.
//
// What it needs: all nodes on one link. A next hop behind a router is rejected by
// the kernel ("Nexthop has invalid gateway"), and the router in between knows no
// route to the pods anyway. So nodes of different subnets have no route to each
// other's pods, as with flannel, and what is sent there is lost: reading the lab
// warns of it. Routes written for the nodes and for every router in between complete
// the path.
//
// Alternatives: vxlan encapsulates the packet, so that the network between the nodes need
// not know pods; routed modes announce them to the routers instead, by BGP.
package hostgw
