// Package names is what a name means in a resolved lab: on the command line (called.go,
// lookup.go), in its DNS (places.go) and in /etc/hosts (hosts.go). It does not know HCL.
package names
