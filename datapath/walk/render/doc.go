// Package render shows what a walk predicts: as text for a terminal, and as a sequence
// diagram in Mermaid. Start reading at text.go.
package render
