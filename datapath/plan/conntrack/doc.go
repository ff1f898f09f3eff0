// Package conntrack is the vocabulary of which tracked connections end when the rules of a
// namespace change: those that policies now deny (cut.go), and UDP connections to endpoints
// that a service no longer has (udp.go).
package conntrack
