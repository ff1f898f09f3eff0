// Package reports renders the results of expectations: as a matrix on the terminal, as
// JUnit XML, JSON and HTML.
//
// A Report is data filled in by its caller; each renderer is one function from a Report
// to text. The package neither judges nor looks anything up. Start reading at
// result.go, then matrix.go.
package reports
