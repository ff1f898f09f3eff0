// Package proof is netlab test: the labs that it proves (matrix.go), proving them on paper
// (proof.go) and with packets (proof_linux.go), and its reports.
package proof
