// Package draft is a lab that is being resolved: what is written, what has been decided of
// it, and the mistakes found so far. It has what every part of resolve asks of one value:
// is this a known word, a number in range, a valid name, a free address.
//
// It decides nothing: which values belong together, and what follows from them, is known in resolve
// and its other parts. Start reading at draft.go, then report.go.
package draft
