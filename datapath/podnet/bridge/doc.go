// Package bridge is Docker's network, as on a host with nothing but Docker: a bridge with the
// same addresses on every node, masquerading on the way out, published ports on the way in.
// Pods are containers here, and host_port is what docker run -p publishes.
//
// A packet from container 172.17.0.3 on node1 to port 5432 of node2, which container
// 172.17.0.2 there publishes:
//
//  1. The container has one route, via 172.17.0.1. It resolves that address by ARP and sends
//     the frame to docker0, the bridge of node1, whose own address it is.
//  2. node1 looks up 192.168.0.12: on the link of eth0. It lowers the TTL to 63. FORWARD
//     accepts what comes from docker0, and "-s 172.17.0.0/16 ! -o docker0 -j MASQUERADE"
//     replaces the source by 192.168.0.11, since 172.17.0.3 means another container
//     everywhere else.
//  3. node2 gets a packet for an address of its own. In PREROUTING the chain DOCKER replaces
//     the destination by 172.17.0.2:5432.
//  4. node2 looks up 172.17.0.2: its own bridge. TTL 62. FORWARD has the policy DROP, but
//     its chain DOCKER accepts what is for a published port. The container sees 192.168.0.11.
//  5. The reply takes the same path back. Connection tracking undoes the DNAT on node2 and the
//     masquerading on node1, and FORWARD accepts it as ESTABLISHED.
//
// A packet from the same container to 172.17.0.2, meant for the container of node2, never
// leaves node1: docker0 has a route to 172.17.0.0/16, so that the container of node1 with that
// address gets it. If node1 has none, nobody answers node1's ARP requests.
//
// The bridge filters what it forwards (bridge-nf-call-iptables), so that replies between two
// containers of a node pass conntrack. As with dockerd's userland-proxy=false, no program
// copies streams: the node reaches published ports by OUTPUT, on 127.0.0.1 too, for which
// docker0 has route_localnet; and a container that dials its own published port is masqueraded
// and sent back by the port that it came from (hairpin), which sees the bridge's address as the
// source. With the userland proxy, Docker's default, such connections end at a process of the
// node, and the container sees 172.17.0.1 for all of them.
//
// Docker's default network has no IPv6, and neither has this mode.
//
// What it costs: nothing per remote node. Per container nothing but its link, and per published
// port three rules on its own node: DNAT, ACCEPT, and the masquerading of a container that dials
// itself. No header, so containers have the underlay's MTU. The real cost is the node's ports:
// two containers that publish the same one cannot share a node, and whoever dials has to know
// on which node and port a service is.
//
// How it came to be: Docker took over the bridge of LXC and made it work on any machine, behind
// any network, without asking anyone for addresses. Kubernetes started from the trouble with
// ports and demanded an address for every pod that is the same everywhere (its network model).
// flannel's first way to give each node a /24 of its own was a file with which Docker started:
// --bip=10.244.1.1/24. The modes of the other folders are what followed.
//
// What breaks, and how it shows:
//
//   - Addresses of containers are dialed across nodes: another container answers, refuses, or
//     none is there ("no route to host" after three seconds of ARP). Nothing appears on eth0.
//   - ip_forward is 0 (fault forwarding-off): containers of a node reach each other on the bridge
//     and the node itself; everything beyond is silent, in both directions.
//   - FORWARD has the policy DROP without Docker's accepting rules, as after a firewall was
//     restarted (fault closed-forward): the same, and containers of one node are cut off from
//     each other as well, since bridged packets pass FORWARD. Counters of the policy rise.
//   - Two containers publish one port of a node: Docker refuses to start the second ("port is
//     already allocated"), and reading the lab says so.
//
// Alternatives: none is the same with addresses that are unique but not routed; host-gw adds the
// routes. Docker's own answer across nodes is an overlay network, which is VXLAN.
package bridge
