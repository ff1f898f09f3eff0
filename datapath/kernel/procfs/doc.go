// Package procfs reads and writes the sysctls of a network namespace.
package procfs
