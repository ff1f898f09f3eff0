// Package functions has what expressions can call (functions.go), and the limits of those that
// cannot be stopped in time (limits.go). It does not know labs.
package functions
