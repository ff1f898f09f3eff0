// Package datapath says how the kernel should look for a lab: Compile turns a
// topology.Lab into a plan.Plan.
//
// It calls the parts in order (compile.go): the pod network, the agents in it, the
// routes that the outside knows to addresses of services (external.go), then the
// services of each node. catalog.go is the list of modes and backends. All of
// it is pure; what touches the kernel is in the folders netns, kernel, probe and
// engine.
package datapath
