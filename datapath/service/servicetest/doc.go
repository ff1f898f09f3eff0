// Package servicetest tests the conformance of every service backend: which endpoint
// answers a connection to a service, which source it sees, and how the connection fails
// when none answers.
//
// The questions are all combinations of client, kind of address, traffic policies and
// state of the endpoints (question.go). The right answers follow from a few rules of
// Kubernetes services (right.go), in terms of nodes and endpoints, never of chains.
// Where kube-proxy's modes differ by design, differences.go has a row, which the
// documentation shows; cases.go has the questions that fit in no table.
//
// They are tested on paper (Paper), which follows packets through the plan, and in
// network namespaces (Kernel), for every backend of the catalogue of package datapath
// (conformance_test.go).
package servicetest
