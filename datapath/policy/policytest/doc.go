// Package policytest is the exam that every policy style sits: who may connect to whom.
//
// A case (cases.go, cases_more.go) is a few policies over one lab of two nodes
// (lab.go), in words of its own (words.go). Its table are all pairs of ends on all
// protocols and ports, and ways by cluster IPs and node ports (question.go). What is
// right follows from the text of the policies (right.go), by other code than what
// styles are given, and is compared with topology.Allowed.
//
// The exam is taken on paper, which follows packets through the plan, and in network
// namespaces, where each case is an update of a running lab (exam_test.go). Every
// style of the catalog of package datapath sits it.
package policytest
