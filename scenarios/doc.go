// Package scenarios is the language of labs: it turns HCL files into a
// topology.Spec and the expectations about it, and says what is wrong with them.
// The labs that ship lie beside it.
//
// Load does everything: it reads the files (files.go), evaluates their blocks in
// stages (load.go), so that a block can refer to what was decided before it, and
// collects all mistakes of one run (diagnostics.go). schema.go lists what each
// block may hold; what the language has but this version does not is listed there
// too. An expression is evaluated in one place (evaluate.go, references.go). What users
// call places and services on the command line is found by called.go and lookup.go.
//
// The package knows nothing of the kernel, reads no clock, randomness or
// environment, and bounds what a scenario can cost (limits.go).
package scenarios
