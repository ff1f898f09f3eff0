// Package kernel makes network namespaces equal to a plan, reads back what is
// there, and tries out which features the kernel has.
//
// It is the only package that speaks netlink and runs iptables-restore. Links,
// addresses, routes, neighbours and forwarding entries go as batches of netlink
// messages, one socket per namespace and none kept open; rules go as one
// iptables-restore per namespace. It knows plans, not labs: it never asks what a
// namespace is for.
//
// Start reading at apply.go; message.go holds the netlink messages, read.go the
// way back, features.go the probes.
package kernel
