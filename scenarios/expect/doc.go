// Package expect is the claims of a scenario: which connections an expectation is about, how
// many of them tell whether it holds, and what is wrong with their results. It knows neither
// HCL nor how a flow is dialed; package trial puts a claim to the test.
//
// An expectation is a list of checks, a file each. A check sees results with their
// weights (evidence.go), and does not know whether packets brought them (a weight is a number of
// connections) or a walk on paper (a weight is a probability): the same code judges both.
// What only packets can show, such as a latency, is measured (check.measure), and on paper
// the expectation names it as not predicted.
//
// Start reading at reach.go, then check.go and, for one check, source.go; then trial/trial.go.
package expect
