// Package wireguard configures WireGuard devices of the kernel, and reads them back. Its
// functions act on the network namespace of the calling thread.
package wireguard
