// Package wireguard is a node's end of a WireGuard network in user space: wireguard-go on a
// TUN device, where the kernel lacks WireGuard.
//
// Open starts one in the network namespace of the calling thread: device and sockets belong
// to it from then on, and goroutines of any thread serve them. Start reading there.
package wireguard
