// Package neighbours adds and deletes neighbours and forwarding entries, and reads them back
// (read.go). learned.go compares with the plan what the kernel has learned from packets.
package neighbours
