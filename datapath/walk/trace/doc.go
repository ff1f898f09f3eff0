// Package trace owns what a walk finds: a prediction with its branches, and each branch step
// by step. It does not know how that is found; whoever reads predictions needs no walker.
//
// Start at prediction.go, then step.go; packet.go is a packet as a trace shows it.
package trace
