// Package functions has what expressions can call (functions.go), and limits what the
// expressions of a scenario can cost (limits.go). It does not know labs.
package functions
