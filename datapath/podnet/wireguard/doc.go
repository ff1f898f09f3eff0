// Package wireguard is flannel's backend of that name: the nodes are joined by WireGuard,
// which encrypts what pods say to each other, and knows nodes by their keys.
//
// A packet from pod 10.244.1.2 on node1 to pod 10.244.2.3 on node2:
//
//  1. The pod has one route, via 10.244.1.1. It resolves that address by ARP
//     and sends the frame to cni0, the bridge of node1, whose own address it is.
//  2. node1 looks up 10.244.2.3: 10.244.2.0/24 dev flannel-wg. It lowers the TTL to 63;
//     FLANNEL-POSTRTG returns for traffic between pods.
//  3. flannel-wg asks which of its peers has 10.244.2.3 among its allowed IPs: node2, a
//     public key and the endpoint 192.168.0.12:51820. If the two have no session, the
//     packet waits for a handshake of one datagram each way, in which both prove that they
//     have the private keys to the public ones that the other knows, and agree on session
//     keys, which they change every two minutes.
//  4. flannel-wg encrypts the packet (ChaCha20-Poly1305) and sends it from port 51820 to
//     port 51820: a header of 16 bytes, the packet, a tag of 16 bytes.
//  5. flannel-wg of node2 decrypts it with the key of the session, and so knows that it is
//     from node1. It asks which peer has the source, 10.244.1.2, among its allowed IPs. If
//     it is another one, or none, the packet is dropped: nobody sends in the name of pods
//     that are not its own. This is cryptokey routing: the same table leads packets out, and
//     judges those that come in. It also has the node's own addresses, to which no route
//     of the device leads: a node answers with them a pod that has kept its address.
//  6. node2 routes the packet to its bridge. TTL 62. The pod receives a packet from
//     10.244.1.2, and its reply takes the same path back, in the same session.
//
// What it costs: per node one device and a pair of keys; per remote node a route and a peer.
// Nothing per pod. Each packet carries 60 bytes more (16 header, 16 tag, 8 UDP, 20 IPv4; 80
// over IPv6), so that pods have an MTU of 1440. flannel takes off 80 always. WireGuard pads
// packets to multiples of 16 bytes, but never beyond its MTU.
//
// The private key of a node is in the file, or derived from the names of lab and node, so
// that equal files make equal labs. flannel creates one where it starts, and publishes the
// public key with the node. flannel routes the whole cluster to the device, as mode udp
// does; here, as wg-quick does it, each peer has a route of its own, since a packet for no
// peer is answered by the kernel's device (host unreachable), and by wireguard-go is not.
//
// Where the kernel lacks WireGuard, wireguard-go takes its place: a program, on a TUN device
// of the same name, with the same keys, peers and routes; both forms understand each other.
// netlab status and inspect say which it is. Neither has any other option: no cipher to
// choose, no certificates, no states to watch. That is why it came to be, in 2016, next to
// IPsec and OpenVPN, and why it is 4,000 lines. Linux has it since 5.6, flannel since 2018.
//
// What breaks: silence is all that a wrong key gets. If node2 has another private key than
// the one that the others know, handshakes fail, in both directions, and nothing says so:
// packets wait in flannel-wg and are lost, wg show has no latest handshake. With UDP 51820
// blocked in one direction only, both are silent, too, since a handshake needs an answer.
// A peer's session outlives a restart of the other end by up to 15 seconds: until then it
// sends what nobody can decrypt. With a source that the peer is not allowed to send, packets
// arrive and are dropped; the error counter of the receiving device climbs.
//
// Alternatives: encrypted, which needs no handshake and has one secret for all; ipsec, whose
// keys come from outside; vxlan, where nobody reads along.
package wireguard
