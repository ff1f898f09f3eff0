// Package bench measures netlab against the floor: a bare loop that creates the same
// kernel objects over raw netlink, and does nothing else. Both run interleaved in one
// process tree, and what counts is the ratio of their medians: on a slow or shared
// machine the ratio stays the same.
//
// floor.go is the bare loop and netlink.go its messages; neither uses any other part of
// netlab, or a library. measure.go holds the comparisons that the documentation quotes.
package bench
