// Package expect holds the kinds of expectations that a scenario can state, one
// file each: what they claim, which flows prove it, and the judgement of what was
// seen. It knows neither HCL nor how a flow is dialed.
//
// Judging is pure: the same flows, seen in the same way, give the same verdict.
// Start reading at expectation.go, then reach.go and judge.go.
package expect
