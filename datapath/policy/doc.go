// Package policy turns the network policies of a lab into what one node needs to
// make them so.
//
// view.go gathers, for each node, its pods and which policies are about them in each
// direction; section.go resolves what policies say into addresses, blocks and ports
// of one IP family; blocks.go subtracts exceptions from blocks and ports.go merges
// ports. All that is the same for all styles: no style knows a selector, an exception
// or the name of a port. A style, one folder each, turns a View into chains and sets.
//
// Three things hold whatever the style. A policy is enforced on the node of the pod
// that it is about, so that each node sees both sides of a packet only when both pods
// are its own. The node itself always reaches its own pods. Pods reach themselves.
//
// The package knows neither pod networks, services nor the kernel. To add a style: a
// folder with an essay and a Compile, and a line in the catalog of package datapath;
// then it sits the exam of package policytest.
package policy
