// Package datapath computes the desired kernel state of a lab: Compile turns a
// topology.Lab into a plan.Plan.
//
// It calls the parts in order (compile.go): the pod network, the agents in it, the
// outside routes to service addresses (external.go), then the services of each node.
// catalogue.go is the list of modes, backends and styles. All of it is pure; code that
// touches the kernel is in the folders netns, kernel, probe and engine.
package datapath
