// Package udp is flannel's first backend: a daemon on each node reads the packets for
// other nodes from a TUN device and sends them on in UDP datagrams.
//
// A packet from pod 10.244.1.2 on node1 to pod 10.244.2.3 on node2:
//
//  1. The pod has one route, via 10.244.1.1. It resolves that address by ARP
//     and sends the frame to cni0, the bridge of node1, whose own address it is.
//  2. node1 looks up 10.244.2.3. One route leads to all pods of the cluster: 10.244.0.0/16
//     dev flannel0. The one to its own, 10.244.1.0/24 dev cni0, is longer but does not
//     match. It lowers the TTL to 63; FLANNEL-POSTRTG returns for traffic between pods.
//  3. flannel0 has no wire, only a reader: the packet waits in the kernel until the daemon
//     of node1 has read it, the first copy and the first switch between kernel and process.
//  4. The daemon has a table of nodes by the pods that they have. It finds 192.168.0.12
//     for 10.244.2.0/24, and sends the packet, as it is, in a datagram from port 8285 to
//     port 8285: the second copy. The datagram passes node1's rules as its own traffic.
//  5. The daemon of node2 receives the datagram, from a node that it knows, and writes the
//     packet to its flannel0: the third copy. There it arrives like one from a wire, and
//     node2 routes it to its bridge. TTL 62. The pod receives a packet from 10.244.1.2,
//     and its reply takes the same path back.
//
// What it costs: per node one route and one program; per remote node an entry in the table
// of the program, none in the kernel. Per pod nothing. Each packet carries 28 bytes more
// (8 UDP, 20 IPv4; 48 over IPv6), fewer than with VXLAN, since there is no inner frame.
// What is dear are the copies and switches: written plainly, a read and a write per packet,
// the program carries a tenth of what the kernel's own VXLAN does. Here it takes and gives
// many packets at a time, which makes it several times faster (package udptunnel).
//
// Why it is so: it needs nothing of the kernel but TUN and UDP, which in 2014 was more than
// one could say of VXLAN. flannel has kept it for debugging, and for kernels without VXLAN.
// flannel's carries IPv4 only; this one carries the packets of both families.
//
// What breaks: with the daemon dead everything looks right, routes and links included, and
// packets vanish in flannel0, whose dropped counter climbs; netlab status says that the
// tunnel has ended. A destination that no node has is answered with ICMP network
// unreachable, by the daemon, not by the kernel. With UDP 8285 blocked, datagrams leave and
// none arrives. A datagram from an address that is no node's is dropped.
//
// Alternatives: vxlan, the same in the kernel; host-gw, where all nodes share a link;
// encrypted and wireguard, where the network in between should not read along.
package udp
