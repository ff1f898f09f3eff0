// Package servicetest is the exam that every service backend sits: who answers a
// connection to a service, whom the server sees, and what comes of it when nobody
// answers.
//
// The questions are all combinations of who dials, what kind of address, which
// traffic policies and which state the endpoints are in (question.go). What is right
// follows from few sentences about Kubernetes services (right.go), told in words of
// nodes and endpoints, never of rules. Where kube-proxy's modes differ by nature,
// differences.go has a row, which the documentation shows; cases.go has the questions
// that fit in no table.
//
// The exam can be taken on paper (Paper), which follows packets through the plan,
// and in network namespaces (Kernel). Every backend of the catalog of package datapath
// sits it (exam_test.go).
package servicetest
