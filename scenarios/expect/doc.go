// Package expect judges the claims of a scenario: which flows prove an expectation, and
// whether their results are as claimed. It knows neither HCL nor how a flow is dialed.
//
// An expectation is a list of checks, a file each. A check sees results with their
// weights, and does not know whether packets brought them (a weight is a number of
// connections) or a walk on paper (a weight is a probability): the same code judges both.
// What only packets can show, such as a latency, is measured (check.measure), and on paper
// the expectation names it as not predicted.
//
// A claim is about every connection unless it says otherwise, so it is held against paper
// first: what can happen there outside of the claim fails it, whatever packets show. A
// Trial makes enough connections to see all that the claim tells apart, and dials again
// only what paper calls impossible.
//
// Judging is pure: the same flows with the same results give the same verdict. Start
// reading at reach.go, then check.go and, for one check, source.go; then trial.go.
package expect
