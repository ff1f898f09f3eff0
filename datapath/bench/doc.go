// Package bench measures netlab against the floor: a bare loop that makes the
// same kernel objects by raw netlink, and nothing else. Both run interleaved in one
// process tree, and what counts is the ratio of their medians: the machine may be
// slow or shared, the ratio stays.
//
// floor.go is the bare loop and netlink.go its messages; neither uses any other
// part of netlab, nor a library. measure.go holds the comparisons that the
// documentation quotes.
package bench
