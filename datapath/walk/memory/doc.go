// Package memory owns what rules remember from one connection to the next. It does not know
// rules, nor which services keep their clients by them.
//
// Start at state.go, with the lists of recent and dynamic sets; affinity.go has the clients
// that IPVS and proxies in user space keep on an endpoint.
package memory
