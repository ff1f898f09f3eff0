// Package meaning says how a connection in a lab ends by what Kubernetes promises:
// services (Reach) and network policies (Allowed). It does not know rules: rules are
// tested against it. What differs between pod networks and proxies it reads from the
// facts that their packages state (topology.NetworkMode, topology.ProxyMode), so it
// knows none of them by name.
//
// Reach, in reach.go, follows a packet from host to host. path.go has the packet and its
// reply, routes.go the owners of addresses and the routes of each host, routers.go what routers do, viaservice.go what
// a node does with a packet for a service, endpointchoice.go which endpoints it uses,
// virtual.go what differs with virtual servers, hostports.go what pods publish on their node,
// and enforce.go where policies are enforced.
//
// Allowed says what network policies decide about a connection, and why: allowed.go. Where
// the API leaves something open, labs behave like this. Protocols without ports follow the
// rules without ports. A pod reaches itself and, unless host_egress is "enforce", its own
// node. A pod on the host's network is its node: no policy applies to it, and only blocks
// of addresses match it as a peer, never a selector. Of admin policies with the same
// priority the first by name applies. Reach applies Allowed on each node of the path.
package meaning
