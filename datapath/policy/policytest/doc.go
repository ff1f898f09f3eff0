// Package policytest tests the conformance of every policy style: who may connect to whom.
//
// A case (cases.go, cases_more.go) is a few policies on one lab of two nodes (lab.go),
// in a small language of its own (words.go). Its table is all pairs of ends on all
// protocols and ports, and connections via cluster IPs and node ports (question.go).
// The right answers follow from the specification of the policies (right.go), in code
// independent of the input of the styles, and are compared with meaning.Allowed.
//
// Cases are tested on paper, which follows packets through the plan, and in network
// namespaces, where each case is an update of a running lab (conformance_test.go), for
// every style of the catalogue of package datapath.
package policytest
