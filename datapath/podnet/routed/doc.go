// Package routed is Calico without encapsulation: no bridge anywhere. Each pod has a link
// of its own to its node, the node has a route to each of its pods, and one to the block
// of every other node.
//
// A packet from pod 10.244.1.2 on node1 to pod 10.244.2.3 on node2:
//
//  1. The pod has its address with the prefix length 32, so nothing is on its link but
//     itself. Its default route is via 169.254.1.1, an address that no host has. A
//     permanent neighbour entry says that it is at ee:ee:ee:ee:ee:ee.
//  2. That is the MAC of the other end of the link, cali and a hash of the pod's name,
//     which has no address. node1 checks that the source is the pod's own (rp_filter 1)
//     and looks up 10.244.2.3: 10.244.2.0/24 via 192.168.0.12 dev eth0 proto bird. It
//     lowers the TTL to 63 and leaves both addresses alone, since the destination is in
//     the set of all pools.
//  3. node1 resolves 192.168.0.12 by ARP and sends the packet on the underlay as it is.
//  4. node2 looks up 10.244.2.3: 10.244.2.3 dev cali… scope link. TTL 62. It resolves the
//     pod by ARP on that link, and the pod receives a packet from 10.244.1.2.
//
// Two pods of one node are routed, too, so a packet between them arrives with a TTL of 63,
// and passes FORWARD. A pod that reaches itself through a service gets its packet back by
// the link that it came from; no bridge has to be told to allow that (hairpin). IPv6 is
// the same with prefix length 128 and the gateway fe80::ecee:eeff:feee:eeee, which is the
// link-local address of that MAC.
//
// What it costs: per remote node one route on every node; per pod one link, one route and
// one setting on its own node, and nothing on others. No header, so pods have the
// underlay's MTU.
//
// What leaves: cali-nat-outgoing masquerades packets whose source is in cali40masq-ipam-pools
// and whose destination is not in cali40all-ipam-pools (cali60… for IPv6). Nodes are not in
// a pool: another node sees the node, not the pod, unless masquerade_node_traffic = false,
// which adds a set with the nodes.
//
// Why it is so: Calico treats every node as a router and every pod as a host behind it, so
// that nothing but IP routing has to be understood, and routers outside can learn the
// routes by BGP. Without a bgp block the routes are written down here, and marked as bird's: on
// one link everybody knows what BGP would tell. A block that BGP announces has to end somewhere: the route "blackhole 10.244.1.0/24" discards what is for
// an address that no pod has, which would otherwise go to the default gateway and back
// until its TTL expires.
//
// Unlike Calico: the pod's neighbour entry is permanent. Calico sets proxy_arp on the link
// instead, and then the node answers for 169.254.1.1 only while it has a route to that
// address by another link: without a default route the entry becomes FAILED, and the pod
// reaches nothing although all routes are right (calico issue 3270). A node's block is its
// whole share of the pod CIDR, where Calico takes blocks of /26 as needed.
//
// What breaks: packets to an address of the block that no pod has are lost without an
// error; a process of the node itself gets "Invalid argument". Without the route of a
// node's block on another node, or with a router between the nodes that does not know the
// blocks, packets go to the default gateway and are lost; without the one back, requests arrive and
// replies are lost. A pod that sends from another address than its own is dropped by
// rp_filter, without an error.
//
// With BGP: a bgp block in the network gives each node a speaker, and what they tell each
// other takes the place of what is written (proto bgp instead of bird):
//
//  1. node2 announces 10.244.2.0/24 to each of its peers, over TCP port 179: all other nodes,
//     in the AS of them all, 64512. The next hop is node2's own address.
//  2. node1 looks up how it reaches that address. On its link: the route is the one above.
//     Elsewhere: it takes the gateway that leads there (in bird: gateway recursive).
//  3. What node1 has heard from a peer of its own AS it does not pass on, since that peer
//     tells everybody. So all have to peer with all, or with route reflectors, which do pass
//     it on, and note who the originator was and that it came by them (RFC 4456).
//  4. A router with a bgp block is in an AS of its own. It peers with the nodes and the routers
//     on its links, learns all blocks, and passes them on with itself as the next hop and its
//     AS in front. A node refuses what has its own AS in the path; it has heard it from the
//     others anyway. Nodes tell routers of their own block only, since the way by another node
//     would be longer and look equal.
//  5. Hence node1 and a node4 behind that router reach each other's pods without a tunnel: the
//     router in between knows both blocks. Without BGP it does not, and they have no route.
//
// What that costs: N(N-1)/2 sessions, two TCP sockets and three or four goroutines each; with R
// reflectors about R·N. 20 nodes in a full mesh converge in a third of a second, a speaker takes
// some 300 kB of the engine, and netlab itself is 2 MB larger. A full mesh also makes every
// node a neighbour of every other: the kernel's neighbour table has room for 1,024 entries on
// the whole machine (net.ipv4.neigh.default.gc_thresh3), which 33 nodes fill. Use reflectors
// before that.
//
// What breaks then: a speaker that dies loses its sessions at once, since its connections are
// reset; all others withdraw the routes to its pods, while its own stay, and packets from its
// pods arrive without an answer. A firewall that drops port 179 shows when the hold time is
// over, 3 seconds here: both ends withdraw. netlab status names the session and the route that
// is missing, netlab inspect lists all sessions. Package agents/bgp says how sessions are made.
//
// Unlike Calico: the hold time is short, there is no graceful restart, and of two peers only
// one connects. A router announces nothing of its own.
//
// Alternatives: host-gw has the same routes between nodes, and a bridge on each; ipip and
// vxlan encapsulate, where the network between the nodes must not see pods.
package routed
