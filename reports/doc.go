// Package reports shows how the expectations of scenarios ended: as a matrix on
// the terminal, as JUnit XML and as JSON.
//
// A Report is data that somebody else has filled; each renderer is one function
// from a Report to text. The package neither judges nor looks anything up. Start
// reading at result.go, then matrix.go.
package reports
