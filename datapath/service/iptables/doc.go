// Package iptables serves services by iptables rules, exactly as kube-proxy 1.35
// lays them out: the same chains, names, order and comments, so that articles and
// iptables-save of a cluster read the same.
//
// A packet from a client outside to node port 31380 of node1 meets:
//
//  1. nat PREROUTING jumps to KUBE-SERVICES, which has a rule per cluster IP; none
//     matches. Its last rule sends what goes to an address of the node to
//     KUBE-NODEPORTS, and the rule for 31380 there to KUBE-EXT-….
//  2. KUBE-EXT-… (external destinations) marks for masquerade under traffic policy
//     Cluster and goes on to KUBE-SVC-…. Under Local it lets pods and the node
//     itself short-circuit to KUBE-SVC-…, and all others go to KUBE-SVL-…, which
//     knows this node's endpoints only.
//  3. KUBE-SVC-… or KUBE-SVL-… picks an endpoint: of n, the first rule matches with
//     probability 1/n, the second with 1/(n-1), the last always.
//  4. KUBE-SEP-… rewrites the destination, and first marks for masquerade when the
//     source is the same endpoint (hairpin): otherwise it would answer itself.
//  5. filter FORWARD: KUBE-FORWARD accepts what is marked and what belongs to a
//     connection. What reached no endpoint still has the service's address and is
//     rejected or dropped in KUBE-EXTERNAL-SERVICES.
//  6. nat POSTROUTING: KUBE-POSTROUTING masquerades what is marked.
//
// Later packets of the connection meet none of the nat rules: connection tracking
// remembers the translation.
//
// What it costs: per service port a rule in KUBE-SERVICES that every new connection
// to a later one has to pass (about 10 ns each), a chain, and per endpoint a rule
// and a chain of two.
//
// A load balancer address takes the same path from KUBE-SERVICES; with source ranges
// via KUBE-FW-…, and sources outside the ranges are dropped in KUBE-PROXY-FIREWALL.
// Session affinity adds a rule per endpoint before the choice, which matches the list of
// addresses that the endpoint's chain keeps (xt_recent).
//
// Where the kernel has accounting objects (xt_nfacct), what is dropped as invalid, and what
// came to a node port of a loopback address, counts in one that the namespace holds by name
// (nfacct list); where it has none, the rules do without, as kube-proxy's do.
//
// More than 1000 endpoints have no comments. One endpoint that changes changes its
// chain and its service's: the restore carries no other.
//
// names.go names the chains, static.go has the rules that exist without any service,
// services.go the entries per service port, chains.go the chains that they lead to,
// filter.go what is rejected and dropped. layout.go says what differs in older versions,
// xlb.go how they led to endpoints until 1.23.
package iptables
