// Package fault breaks plans on purpose, in the ways in which real networks break: a
// forwarding entry is missing, a route is stale, a firewall drops the tunnel's datagrams.
//
// A fault is a function from a plan to a plan, so that the walker predicts what it does
// and the difference of the two plans is all that the kernel has to change. Kinds, a file
// for each subject, lists them; their names are part of the language.
package fault
