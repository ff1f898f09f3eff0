// Package bgp is the vocabulary of BGP speakers: who peers with whom, and what follows
// from it.
//
// A Speaker (speaker.go) is what a host's routing daemon is told. A Table (table.go) is
// what it knows: the paths that its peers have announced, the best one to each prefix, and
// what it tells whom. The running speakers use tables, fed by messages; so does Converge
// (converge.go), which passes the messages on paper until nothing changes any more. What it
// finds are the routes of the plan.
//
// Preference and reflection are those of RFC 4271, section 9.1, and RFC 4456; there is no
// MED, and the local preference is the same everywhere.
package bgp
