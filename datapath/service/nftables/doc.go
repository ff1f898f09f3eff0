// Package nftables serves services by nf_tables, exactly as kube-proxy 1.35 lays them out in
// its mode of that name: the same tables, chains, maps, names and comments, so that nft list
// ruleset of a lab and of a cluster read the same.
//
// A packet from a client outside to node port 31380 of node1 meets, in the table ip
// kube-proxy:
//
//  1. filter-prerouting-pre-dnat, before any translation: the map firewall-ips leads what is
//     for a load balancer address with source ranges to firewall-…, which drops others.
//  2. nat-prerouting jumps to services. The map service-ips has every cluster, external and
//     load balancer address with its port; then, for the node's first address or those of
//     node_port_addresses (set nodeport-ips), the map service-nodeports. One lookup each,
//     however many services there are, leads to external-….
//  3. external-… marks for masquerade under traffic policy Cluster and goes on to service-….
//     Under Local it lets pods and the node itself short-circuit to service-…, and all others
//     go to local-…, which knows this node's endpoints only.
//  4. service-… or local-… draws a number, and its own verdict map leads to an endpoint.
//  5. endpoint-… marks for masquerade when the source is the same endpoint (hairpin), and
//     rewrites the destination.
//  6. filter-input, filter-forward and filter-output: what reached no endpoint still has the
//     service's address, and the maps no-endpoint-services and no-endpoint-nodeports reject
//     it, or drop it where there are endpoints elsewhere. cluster-ips-check rejects other ports
//     of cluster IPs, and drops what is for cluster IPs that no service has.
//  7. nat-postrouting: masquerading rewrites the source of what is marked.
//
// Later packets of the connection meet none of the nat chains: connection tracking remembers
// the translation.
//
// Session affinity adds a set per endpoint, whose elements are clients and go away in time:
// endpoint-… adds the client, or begins its time again, and service-… looks it up before it
// draws.
//
// # What it costs
//
// Per service port an element for each address and one or two chains, per endpoint a chain of
// two rules. A packet costs two lookups, not a rule per service: that is why it was written
// (KEP-3866), since a new connection to the last of 10,000 services passes 10,000 rules of
// iptables. A change touches the elements and chains of its service, in one transaction; iptables
// replaces whole tables. A rule with its own map has to be replaced with the map, so one endpoint
// more rewrites service-….
//
// These maps are what makes many services slow to load. The kernel keeps the sets of a table, named
// or not, in a list: to create one and to find one for a rule takes a walk through it. And to bind one
// to its rule it walks through all that the transaction did before. So nft -f, which loads a file as
// one transaction, takes over a minute for 10,000 services. netlab builds a new table in small transactions
// that no packet meets, since nothing leads to their chains yet; the last one adds the base chains. That is
// as good as one, and takes a tenth of the time (kernel/socket/transaction.go).
//
// # What differs from iptables, and how failures look
//
// Node ports answer on the node's first address only, unless node_port_addresses names more
// (kube-proxy's "primary"), and never on 127.0.0.1: there, a connection is refused. A wrong port of a
// cluster IP is refused at once, instead of a timeout far away. The node's own
// processes are refused, too, where a load balancer address has no endpoints. Packets that connection
// tracking calls INVALID are not dropped: a late reply of an endpoint reaches the client with the
// wrong source, and the client resets (kubernetes issue 74839).
//
// Base chains of iptables have the same priorities. netlab creates nf_tables' first, so that at the
// same priority those of iptables see packets first.
//
// names.go names the chains, static.go has what exists without any service, services.go the
// elements per service port, chains.go the chains that they lead to.
package nftables
