// Package kernel makes network namespaces equal to a plan, and reads back their state.
//
// With those below, it is the only package that changes the kernel. It walks the steps of
// a difference in order (run.go) and knows how to carry out each; the order itself is
// computed by package plan (steps.go there). Links, addresses, routes, neighbours and forwarding
// entries are sent as batches of netlink messages, through one socket per namespace,
// none kept open; rules as one iptables-restore per namespace. It knows plans, not
// labs: what a namespace is for does not matter here.
//
// Apply reads all namespaces before it changes any, Update, where possible, only those
// that a change affects (update.go).
//
// The subpackages do one thing each. One for each kind of kernel state writes it and reads
// it back: links, routing, neighbours, qdiscs, sets, nftables, xtables, virtual, wireguard,
// xfrm and procfs; conntrack only deletes. What they read and no plan lists, since it
// follows from the plan or is foreign, they note with package deviations; settings does so
// for sysctls. socket speaks netlink. features probes features.
//
// Start reading at kernel.go and run.go. network.go carries out the steps on links and what
// depends on them, rules.go loads rules, read.go reads back, repair.go puts deviations right.
package kernel
