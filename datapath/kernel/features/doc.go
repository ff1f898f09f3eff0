// Package features probes which features the kernel has: each is tried in a network namespace
// of its own (features.go). modules.go tells whether a module that is missing could be loaded.
package features
