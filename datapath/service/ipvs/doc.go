// Package ipvs serves services by the kernel's own load balancer, IPVS, as kube-proxy
// 1.35 sets it up in that mode: virtual servers, ipsets that rules match, and a set of
// iptables rules that does not grow with services.
//
// A packet from a client outside to node port 31380 of node1 meets:
//
//  1. nat PREROUTING jumps to KUBE-SERVICES. The address is one of the node's, so
//     KUBE-NODE-PORT matches the bitmaps KUBE-NODE-PORT-LOCAL-TCP (traffic policy Local:
//     leave it alone) and KUBE-NODE-PORT-TCP (mark for masquerade). No address changes.
//  2. Routing: the address is local. So are cluster IPs, load balancer and external
//     addresses: the dummy device kube-ipvs0 has them all. IPVS needs that, since it
//     sees only what is delivered to the host itself.
//  3. filter INPUT: KUBE-IPVS-FILTER rejects what is for a service's address but none of
//     its ports, which the node's own sockets would get otherwise (kubernetes issue
//     72236). KUBE-PROXY-FIREWALL drops sources outside a load balancer's source ranges.
//  4. Still at INPUT, IPVS: the virtual server 192.168.0.11:31380 picks a real server by
//     its scheduler, rewrites the destination, and sends the packet off through OUTPUT.
//     It never passes FORWARD. A virtual server without real servers refuses.
//  5. nat POSTROUTING: KUBE-POSTROUTING masquerades what is marked, and by
//     KUBE-LOOP-BACK what an endpoint of this node sends to itself. Connection tracking
//     knows the packet only because net.ipv4.vs.conntrack is 1.
//  6. The answer comes back through FORWARD, where IPVS, after filter, gives it the
//     virtual server's address. So it has to pass this node, even when client and
//     endpoint are neighbours on a bridge, which takes bridge-nf-call-iptables.
//
// A process of the node meets IPVS at OUTPUT instead, after nat and before filter. Its
// source is the service's address itself, since that is local; KUBE-IPVS-OUT-FILTER
// matches that to drop it where source ranges exclude the node (kubernetes issue 119656).
//
// What it costs: a packet pays nothing per service, since virtual servers and sets are
// hash tables; an address on the dummy per service address, a virtual server
// per address and port, and for node ports one per address of the node; a real server
// per endpoint in each.
//
// What it does unlike iptables rules (servicetest has the table): policy Local without
// an endpoint here falls back to those of all nodes where the service is external
// (kubernetes pull request 97081); pods and the node itself get this node's endpoints
// alone under external policy Local, as all clients do; node ports do not answer on the
// loopback; session affinity is per address, as each has a virtual server; a service
// without endpoints refuses.
//
// What the kernel confuses: IPVS matches an answer by the addresses and ports of client
// and real server, not by the virtual server's (ip_vs_conn_out_get in
// net/netfilter/ipvs/ip_vs_conn.c), and remembers a connection for ten seconds after a
// reset, for two minutes after an orderly end. When one source port has two connections to
// the same endpoint by two service addresses at once, the older one gets no more answers;
// nor does one that only passes the node, if another that IPVS still remembers had the
// same. Retries do not help, another source port does. The dialers of expectations never
// use a port twice at a time, so it takes a node that masquerades, which picks ports at
// random: one connection in thousands of a busy lab.
//
// Alternatives: addresses as local routes without a device (ip route add local … dev
// lo), an option where the dummy driver is missing; direct routing or tunnels in place
// of rewritten addresses, which need the service's address on every pod; and one
// virtual server per firewall mark, which would need the rules that this mode avoids.
//
// Start reading at ipvs.go; servers.go has virtual servers and addresses, sets.go the
// members of each set, rules.go the rules.
package ipvs
