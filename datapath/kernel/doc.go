// Package kernel makes network namespaces equal to a plan, reads back their state, and
// probes which features the kernel has.
//
// It is the only package that changes the kernel. It walks the steps of a difference in
// order (run.go) and knows how to carry out each; the order itself is computed by
// package plan (steps.go there). Links, addresses, routes, neighbours and forwarding
// entries are sent as batches of netlink messages, through one socket per namespace,
// none kept open; rules as one iptables-restore per namespace. It knows plans, not
// labs: what a namespace is for does not matter here.
//
// Apply reads all namespaces before it changes any, Update, where possible, only those
// that a change affects (update.go).
//
// The subpackages do one thing each: socket speaks netlink; sets, nftables and virtual
// carry out the commands of ipset, nf_tables and IPVS and read the result back; xtables
// runs iptables; procfs accesses sysctls. Start reading at kernel.go and run.go; network.go and message.go
// hold the rtnetlink messages, read.go reads back, conntrack.go selects the
// conntrack entries to delete, features.go probes features. The files named after deviations
// find what no plan lists: it follows from the plan, or is foreign. repair.go puts it right.
package kernel
