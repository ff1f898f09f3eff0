// Package userspace is the proxy that kube-proxy was until it learned to use rules: a program
// on a node that accepts the connections to services, and makes others to their endpoints.
//
// Endpoints are taken in turn (balancer.go), and one that does not take a connection is
// replaced by the next, up to four times, with more patience each time. Streams are copied in
// both directions, which the kernel does alone (splice(2), through io.Copy), until either end
// closes its own (tcp.go). A datagram goes to the endpoint that its client had, until neither
// has sent anything for a quarter of a second (udp.go).
//
// The behaviour is that of kubernetes pkg/proxy/userspace in version 1.25, except that a
// client does not wait for the attempts of the one before it; that the next attempt is at the
// endpoint after the one that failed, and not at whichever has its turn by then, which may be
// the same again; that a connection for which
// there is no endpoint always ends with a reset, which depended on whether the client had sent
// something; and that a datagram is answered from the address that it was sent to, on nodes
// with several addresses, too.
//
// A load balancer outside of the cluster is a port whose endpoints are node ports: it makes one
// attempt, and none to an endpoint whose checks fail (check.go).
//
// Start reading at proxy.go.
package userspace
