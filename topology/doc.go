// Package topology says what a lab is: nodes, pods, clients, services and the
// addresses between them.
//
// Spec is the lab as written, Lab is the lab as resolved. Resolve turns the one
// into the other; it is pure, and after it nothing is optional, nothing is
// defaulted again and every address, MAC, VNI and port is decided.
//
// The package knows nothing of HCL, of the kernel or of rules, and imports the
// standard library only. Start reading at spec.go, then lab.go, then resolve.go.
package topology
