// Package blocks takes the blocks of a scenario apart: a Schema says what a block may
// hold, and the Reader expands dynamic blocks (blocks.go) and those with count or for_each
// (instances.go), resolves references (references.go,
// locals.go), evaluates expressions (evaluate.go) and converts their values (convert.go). It
// does not know what a lab is made of: whoever reads a block brings its schema, and the
// values that expressions refer to.
package blocks
