// Package topology says what a lab is: nodes, pods, clients, services, policies and the
// addresses between them.
//
// Spec is the lab as written, Lab is the lab as resolved. Package resolve turns the one
// into the other, ipam allocates its addresses, and meaning says how a connection in it
// ends. A Catalogue has the modes and styles that a lab can be made of, each
// with the facts that it promises: a package that reads the facts need not know the mode.
//
// The package does not know HCL, the kernel or rules, and imports the
// standard library only. Start reading at spec.go, then lab.go, then catalogue.go.
package topology
