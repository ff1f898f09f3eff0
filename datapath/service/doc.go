// Package service turns the services of a lab into what one node needs to serve
// them.
//
// view.go chooses the endpoints: which of them a node uses for a service port,
// under which traffic policy. That is the same for all backends. A backend, one
// folder each, turns a View into rules.
//
// The package knows neither pod networks nor the kernel. To add a backend: a
// folder with an essay and a Compile, and a line in the catalog of package
// datapath.
package service
