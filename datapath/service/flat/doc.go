// Package flat serves services by nf_tables as fast as nf_tables can: services and endpoints
// are elements of a few maps. It is a layout of the proxy mode nftables; kube-proxy's own has
// a chain for each service and for each endpoint.
//
// A packet from a client outside to node port 31380 of node1, of a service with three
// endpoints, meets:
//
//  1. nat-prerouting jumps to services, a single rule. The map services has an element for
//     192.168.0.11 . tcp . 31380, and its value, the class, becomes the mark of the
//     connection: 0x00100003, all is masqueraded and there are three endpoints. The small map
//     kinds leads from a class to a chain.
//  2. cluster-masqueraded-3 puts a random number from 0 to 2 in place of the 3 in the mark,
//     and looks up address, protocol, port and mark in the map endpoints: its value is the
//     new destination.
//  3. filter-forward: the packet no longer has a service's address, so no-endpoint-services
//     and cluster-ips do not know it. What reached no endpoint is refused or dropped here.
//  4. nat-postrouting: the bits of the class say who is masqueraded: everyone, who is no pod,
//     or the node itself. The set hairpins has the endpoints that may have reached themselves.
//
// Later packets of the connection meet none of the nat chains, and fail the first condition of
// the others.
//
// Under external traffic policy Local the class leads to external-local-…, which sends pods
// and the node itself to the chain everywhere: there the map of the same name has the class
// for all endpoints. Everyone else gets the endpoints of this node. Node ports are elements as
// all others are, one for each address of the node that serves them. Source ranges are a set
// of intervals, looked up before DNAT, if any service has some.
//
// What it costs: a packet pays two lookups in large maps, however many services there are. A
// service costs an element per address and port, an endpoint one for each of these, and
// one in hairpins for its address; no chain, no rule. Loading takes time in proportion to the elements: what takes
// kube-proxy's layout seconds is the number of chains, and of maps that only one rule has,
// each of which the kernel compares with all others of the transaction. An endpoint that
// comes or goes changes its elements and those of its service's class.
//
// How a random number knows the number of endpoints: rules have no arithmetic, and the modulus
// of numgen is part of the rule. So there is a chain for each number of endpoints, not for each
// service: for one to four in any case, and beyond that up to the next power of two, so that a
// change adds chains only when it passes one. Each endpoint gets the same share, exactly. The
// alternative, some fixed number of slots for every service, gives endpoints unequal shares
// (of 16 slots and three endpoints: 6, 5 and 5) and costs 16 elements for one endpoint.
//
// Why the class is a mark and not a verdict: the kernel follows every verdict of a map, from
// every base chain on, when one element changes that has a verdict, to be sure that there are
// no circles: 2.4 ms for 10,000 of them, against 0.05 ms for a value. The mark is the
// connection's, not the packet's: policies and other tables use that of packets. And nft can
// write it in the key of a map; a bare random number it takes there only by example (typeof),
// and then believes that the rule is about the protocol of the example.
//
// Session affinity is the exception. What a client is bound to has to vanish with the
// endpoint, so services that have it get a set of clients and a chain for each endpoint, as in
// kube-proxy's layout; the class leads to them by the map affinity-services.
//
// What breaks, and how it looks: no element in services is a destination that nobody
// translates: the packet leaves by the default route, or finds no listener on the node. One
// that counts an endpoint too many loses every nth connection: no element for that number, no
// translation. One that counts too few leaves the last endpoint idle. Another program that
// sets the marks of new connections before priority -100 changes nothing, one that does so
// later changes who is masqueraded.
//
// Services have other than kube-proxy's chains, but the same answers (package servicetest):
// ports that a cluster IP does not have are refused, and so are the node's own processes by
// addresses without endpoints; nothing answers on the loopback.
//
// Start reading at flat.go; port.go has the elements of a service, class.go the chains that
// choose, rules.go the others, affinity.go the exception.
package flat
