// Package ipsec joins nodes by IPsec, as flannel's ipsec backend and Weave's encrypted fast
// datapath do: the kernel encrypts packets for pods of other nodes with ESP (RFC 4303).
//
// A packet from pod 10.244.1.2 on node1 to pod 10.244.2.3 on node2:
//
//  1. The pod has one route, via 10.244.1.1. It resolves that address by ARP
//     and sends the frame to cni0, the bridge of node1, whose own address it is.
//  2. node1 looks up 10.244.2.3, and finds its default route: there is no route to the pods
//     of other nodes, and no device. It lowers the TTL to 63. FORWARD and POSTROUTING see
//     the packet as it is, on its way out of eth0.
//  3. A policy says otherwise: from 10.244.1.0/24 to 10.244.2.0/24, out, by a tunnel from
//     192.168.0.11 to 192.168.0.12 (ip xfrm policy). The association between the two (ip
//     xfrm state) has an index (SPI), a key and a counter. The packet is padded, encrypted
//     with AES-GCM (RFC 4106) and leaves in one of IP protocol 50, which passes OUTPUT and
//     POSTROUTING as node1's own.
//  4. node2 finds the association by its own address and the SPI. If the tag is right, and
//     the counter new, the packet in it arrives on eth0 once more, and passes PREROUTING.
//  5. Before node2 forwards it, it asks the policies again: one for these addresses says
//     that they have to come through that tunnel. So the same packet without encryption is
//     dropped, whoever sent it.
//  6. node2 routes the packet to its bridge. TTL 62. The pod receives a packet from
//     10.244.1.2, and its reply takes the same path back, with the association of the other
//     direction.
//
// What it costs: per remote node two associations and nine policies, in the kernel, for each
// IP family: pods to pods, node to pods and pods to node, each out, in and forwarded. Per pod
// nothing, and no device. Each packet carries 54 bytes more (8 ESP header, 8 counter, 2
// trailer, 16 tag, 20 IPv4; 74 over IPv6) and up to 3 of padding, so that pods have an MTU of
// 1446. What nodes say to each other is not encrypted.
//
// The keys are derived from the secret of the scenario and both addresses, in order, so that
// equal files make equal labs. On real nodes a program negotiates them and replaces them in
// time (IKE: strongSwan for flannel): with AES-GCM, a counter that repeats with the same key
// gives everything away. Weave set associations as this mode does, with keys that its routers
// agreed upon.
//
// Why it is so: IPsec is older than every other way here (1995), in every kernel and router,
// and the only one that some auditors know. Its price is two tables that must agree with each
// other on both sides, and that ip route does not show.
//
// What breaks: without an association for a policy, packets wait for somebody to negotiate
// one, and are lost; with another key, they arrive and are dropped (XfrmInStateProtoError in
// /proc/net/xfrm_stat). Where a firewall drops IP protocol 50, ESP leaves and none arrives,
// while everything that is not for pods works. Without a policy packets take the default
// route, unencrypted, and the other side drops them (XfrmInTmplMismatch). All are silent.
//
// What else breaks: policies know a packet by its addresses before connection tracking translated
// it, and connection tracking knows nothing of IPVS. So a process of a node that dials a virtual
// server gets no reply from another node's pod: the reply has the server's address when the
// policies are asked (XfrmInNoPols). And where a policy of another node rejects a datagram that
// this node sent on for a service, the error is lost: it comes from the node, not encrypted, but
// belongs to what the pod says (XfrmInTmplMismatch).
//
// Alternatives: wireguard, one table and a device; encrypted, which needs nothing of the
// kernel; host-gw, where nobody reads along.
package ipsec
