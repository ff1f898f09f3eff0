// Package service turns the services of a lab into what one node needs to serve
// them.
//
// view.go gathers what a node knows of each service port, in each IP family;
// endpoints.go chooses the endpoints that it uses, by readiness, traffic policy and
// hints; health.go and udp.go have what every backend needs besides rules: health
// check node ports, and connection tracking entries to clean up. All that is the same
// for all backends. A backend, one folder each, turns a View into rules.
//
// The package knows neither pod networks nor the kernel. To add a backend: a
// folder with an essay and a Compile, and a line in the catalogue of package
// datapath; then it goes through the conformance tests of package servicetest.
package service
