// Package trial puts an expectation to the test: which flows prove it, what paper predicts of
// them, and whether what packets showed is as claimed, and as predicted.
//
// A claim is about every connection unless it says otherwise, so it is held against paper
// first: what can happen there outside of the claim fails it, whatever packets show. A
// Trial makes enough connections to see all that the claim tells apart, and dials again
// only what paper calls impossible.
//
// Judging is pure: the same flows with the same results give the same verdict. It knows no
// check by name: package expect says what is wrong with evidence. Start reading at trial.go,
// then paper.go and packets.go.
package trial
