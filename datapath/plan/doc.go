// Package plan is the desired state of a lab's kernel: network namespaces with their
// links, addresses, routes, neighbours, forwarding entries, sysctls, qdiscs, sets, rules,
// virtual servers and agents.
//
// A Plan is a value, and so is the difference between two: diff.go computes Changes,
// steps.go puts them into the order in which they can be made. Everything uses that
// list of steps: text.go and items.go print it as input of ip, bridge, tc, sysctl,
// ipset, iptables-restore, nft and ipvsadm, and package kernel carries it out. drift.go
// states the difference in sentences, requires.go which kernel features a plan needs;
// codec.go carries plans between processes.
//
// The vocabularies of iptables, nf_tables, ipset, IPVS, of what runs inside a namespace and of
// what a machine must have are packages below. The package knows neither scenarios nor the
// kernel, and imports nothing else. Start reading at plan.go, then step.go and steps.go.
package plan
