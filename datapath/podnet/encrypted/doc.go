// Package encrypted is Weave's sleeve: a program on each node carries packets to other
// nodes in UDP datagrams, each encrypted and numbered.
//
// A packet from pod 10.244.1.2 on node1 to pod 10.244.2.3 on node2:
//
//  1. The pod has one route, via 10.244.1.1. It resolves that address by ARP
//     and sends the frame to cni0, the bridge of node1, whose own address it is.
//  2. node1 looks up 10.244.2.3: 10.244.0.0/16 dev weave0, a TUN device. It lowers the TTL
//     to 63; FLANNEL-POSTRTG returns for traffic between pods.
//  3. The program of node1 reads the packet and finds the node that has 10.244.2.0/24. It
//     encrypts the packet with the key of the direction from node1 to node2, and a number
//     that it uses once. 192.168.0.12 gets a datagram from port 6783 to port 6783: the
//     number (8 bytes), the packet, which nobody else can read, and a tag (16 bytes),
//     without which nobody can change a bit of it.
//  4. The program of node2 knows the sender by its address, and so the key. If the tag is
//     right and the number new, it writes the packet to its weave0.
//  5. node2 routes it to its bridge. TTL 62. The pod receives a packet from 10.244.1.2,
//     and its reply takes the same path back, with the key of the other direction.
//
// The keys are derived (HKDF, RFC 5869) from the secret of the scenario and the addresses
// of both nodes, in order. So each direction has a key of its own, both sides count without
// asking the other, and no number is used twice with a key. The cipher is AES-128-GCM, as
// in Weave's fast datapath. Of the numbers that arrive, the highest and which of the 8,000
// below it have been there are remembered (RFC 6479): UDP may reorder, and a datagram that
// somebody recorded and sends again is dropped. Numbers begin at the time of day in
// nanoseconds, so that a program that starts again with the same keys goes on above all
// that it has used. One that starts again has forgotten what arrived before: until the next
// packet of a node, an old one of it would be taken.
//
// What it costs: as mode udp, one route and one program per node, nothing per pod. Each
// packet carries 52 bytes more (24, 8 UDP, 20 IPv4; 72 over IPv6), and each byte is
// encrypted and decrypted once.
//
// Why it is so: Weave was made for hosts that the internet lies between. Its router tries
// the fast datapath, VXLAN in the kernel with ESP around it, and falls back to sleeve where
// that does not get through. Weave derives its keys from a password and a key exchange
// (NaCl), so that they change; here they stay, so that equal files make equal labs.
//
// What breaks: with another secret on one node both directions are silent, since neither
// understands the other, and nothing says so: a tag that is wrong may be an attack, and gets
// no answer. Datagrams leave and arrive, as tcpdump shows, and nothing comes out of weave0.
// Everything that breaks mode udp breaks this one in the same way.
//
// Alternatives: wireguard, which negotiates keys, and which many kernels have built in; udp,
// where nobody reads along.
package encrypted
