// Package kernel makes network namespaces equal to a plan, reads back what is
// there, and tries out which features the kernel has.
//
// It is the only package that speaks netlink and runs iptables-restore. Links,
// addresses, routes, neighbours and forwarding entries go as batches of netlink
// messages, one socket per namespace and none kept open; rules go as one
// iptables-restore per namespace. Sets and qdiscs are netlink as well, and so is IPVS,
// partly by way of a library. It knows plans, not labs: it never asks what a namespace
// is for.
//
// The order is that of need: links, addresses, settings, neighbours, routes, sets,
// rules, virtual servers. In a namespace that stays, members come into sets before the
// rules change and leave after it, and connections are cut at the very end.
//
// Apply reads all namespaces before it changes any, Update only those that a change
// concerns where it can (update.go).
//
// Start reading at apply.go and edit.go; message.go holds the netlink messages of
// routing, read.go the way back. sets.go, qdisc.go and virtual.go have both ways of
// their kind; graceful.go says how real servers leave, cut.go and stale.go which
// connections are forgotten, features.go how features are tried.
package kernel
