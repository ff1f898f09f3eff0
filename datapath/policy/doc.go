// Package policy turns the network policies of a lab into what one node needs to
// enforce them.
//
// view.go gathers, for each node, its pods and which policies apply to them in each
// direction; section.go resolves policies into addresses, blocks and ports
// of one IP family; blocks.go subtracts exceptions from blocks and ports.go merges
// ports. All that is the same for all styles: no style sees a selector, an exception
// or the name of a port. A style, one folder each, turns a View into chains and sets.
//
// Three things hold for every style. A policy is enforced on the node of the pod
// that it selects, so that each node sees both sides of a packet only when both pods
// are its own. The node itself always reaches its own pods. Pods reach themselves.
//
// The package knows neither pod networks, services nor the kernel. To add a style: a
// folder with an essay and a Compile, and a line in the catalogue of package datapath;
// then it goes through the conformance tests of package policytest.
package policy
