// Package language is the language of labs: it turns HCL files into a
// topology.Spec and the expectations about it, and reports what is wrong with them.
// The scenarios that ship are in the parent folder.
//
// Load does everything: it reads the files (files.go), evaluates their blocks in
// stages (load.go), so that a block can refer to what was decided before it, and
// collects all mistakes of one run (diagnostics.go). schema.go lists what each
// block may hold; what is planned but not supported yet is listed there
// too. Expressions are evaluated in one place (evaluate.go, references.go). What users
// call nodes, pods and services on the command line is resolved by called.go and lookup.go.
//
// The package does not know the kernel, does not read a clock, randomness or the
// environment, and limits what a scenario can cost (limits.go).
package language
