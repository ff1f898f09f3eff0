// Package userspace serves services by a program on each node, as kube-proxy did at first,
// and could until Kubernetes 1.25: rules only redirect connections to the program, which
// makes others to the endpoints.
//
// A connection of a pod to cluster IP 10.96.0.10, port 80, meets on the pod's node:
//
//  1. nat PREROUTING jumps to KUBE-PORTALS-CONTAINER. Its rule for the address and port
//     redirects the packet to a port of the node, such as 20117, at the address of the link
//     that it came in by: REDIRECT. What is for no service, but for an address of the node,
//     goes on to KUBE-NODEPORT-CONTAINER, which has a rule per node port.
//  2. filter INPUT, not FORWARD: the packet is now for the node itself. KUBE-NODEPORT-NON-LOCAL
//     accepts new connections to the ports behind node ports, where a firewall would not.
//  3. The proxy (package agents/userspace) listens there, and accepts the connection before it
//     knows whether any endpoint does.
//  4. It takes the next endpoint in turn, or with session affinity the one that the client
//     had, and connects to it from the node. If that fails it tries the next: it waits 250 ms
//     for the first, then 500 ms, 1 s and 2 s. After four failures it closes the
//     client's connection.
//  5. From then on it copies what one end sends to the other. The reply of the endpoint
//     goes to the node, and the proxy's copy of it back to the pod, as from the cluster IP.
//
// The node's own processes meet OUTPUT instead, with KUBE-PORTALS-HOST and KUBE-NODEPORT-HOST,
// whose rules translate to the node's first address: REDIRECT would lead to 127.0.0.1.
//
// Why it is so: it was the simplest thing that could work, in 2014, and it can do what rules
// cannot: try another endpoint. The kernel only has to redirect.
//
// What it costs: per service port two rules for each address, or three, that every new
// connection passes one by one, and a socket on each node. Per connection: two sockets on the
// node, and processor time for every byte, since a process has to be woken to move it from one to the
// other, even with splice(2). Kubernetes 1.2 made rules the default for that reason.
//
// What breaks, and how it looks: servers see the address of the node, never that of the
// client; so do network policies, which cannot tell pods apart behind a service: egress
// policies see the node's own address, and ingress policies a node. A service without
// endpoints accepts connections and resets them, instead of refusing them. An end that closes
// its sending side only, as in "echo | nc", loses the answer: the proxy closes both.
// Nothing survives the program itself. It knows neither traffic policies nor
// source ranges, readiness beyond the Endpoints object, terminating endpoints, topology
// hints, ipMode, health check node ports, node_port_addresses or SCTP: they came
// later, or to rules only.
//
// External IPs are for what comes from outside: pods behind a bridge and the node's own processes
// are not redirected, unless the node has the address itself. Node ports answer on all
// addresses of the node, loopback ones included, for the node itself.
//
// Where the links of pods have no address, REDIRECT drops: there the proxy listens on the
// node's own address, as with --bind-address, and rules translate to that one.
//
// Differences from the original: the ports are chosen by name (ServicePort.ProxyPort), below
// those that the kernel uses for outgoing connections, where kube-proxy took random ones; the
// order of endpoints is that of their addresses, where it shuffled them; it served one IP
// family, here each has its own rules and sockets; and it held node ports open
// with sockets that nothing ever reaches.
//
// Alternatives: rules that choose an endpoint themselves (iptables), virtual servers (ipvs).
package userspace
