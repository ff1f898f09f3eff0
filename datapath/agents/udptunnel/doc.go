// Package udptunnel carries IP packets between the TUN devices of nodes in UDP datagrams:
// what flanneld does in its mode udp, as a library inside the engine. With a secret it
// also encrypts them, as Weave's sleeve does.
//
// A Tunnel (tunnel.go) is one node's end. It has two goroutines, which sleep until there
// is something to do: one takes packets from the device and sends them to the node that
// has the destination (outgoing.go), one does the reverse (incoming.go).
//
// A system call per packet is what made the original slow. Here the kernel hands over,
// and takes, TCP segments of one connection as one large packet (the virtio header of the
// device, IFF_VNET_HDR in linux/Documentation/networking/tuntap.rst), and datagrams of
// equal size as one large datagram (UDP_SEGMENT and UDP_GRO, udp(7)); several of these go
// into one call. On the wire there is one packet per datagram all the same: segment.go
// cuts large packets up, and merge.go puts them together again.
//
// The package knows neither plans nor labs. It must be opened on a thread inside the
// namespace; from then on its descriptors keep it there.
package udptunnel
