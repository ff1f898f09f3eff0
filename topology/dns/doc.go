// Package dns says what Kubernetes promises about names: the records of a lab
// (records.go), after the specification of DNS-based service discovery
// (github.com/kubernetes/dns, docs/specification.md, schema 1.1.0), and the resolver of each
// pod (resolver.go).
//
// The domain of the cluster and the reverse domains are zones with an SOA record, which answers come
// with that there is nothing, as CoreDNS has them.
//
// The name servers of a lab have nobody to ask about other names. They know the nodes, clients
// and routers by their plain names, as name servers outside the cluster would, and serve the
// root as CoreDNS does with its plugin hosts and no other: every other name does not exist
// (NXDOMAIN), so that it fails at once.
//
// The package knows neither messages nor programs.
package dns
