// Package language is the language of labs: it turns HCL files into a
// topology.Spec and the expectations about it, and reports what is wrong with them.
// The scenarios that ship are in the parent folder.
//
// Load does everything: it evaluates the blocks of the files in stages (load.go), so
// that a block can refer to what was decided before it, and collects all mistakes of one
// run. The files named …table.go list what each block may hold, including what is
// planned but not supported yet. What objects look like in expressions is in objects.go.
//
// What does not depend on what a lab is made of is in folders of its own: source (files and
// diagnostics), blocks (reading blocks and evaluating expressions), functions (those that
// expressions call, and what they may cost) and names (what a name means in a lab). What is
// claimed about the lab, in expect and fault blocks, is in claims.
//
// The package does not know the kernel, and does not read a clock, randomness or the
// environment.
package language
