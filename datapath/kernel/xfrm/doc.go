// Package xfrm makes the associations and policies of IPsec, of ESP in tunnels, and reads them
// back. Its functions act on the network namespace of the calling thread.
package xfrm
