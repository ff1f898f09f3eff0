// Package source is the text of scenarios: finding the files (find.go), reading and parsing
// them within limits (files.go, text.go), formatting them (format.go), and the diagnostics
// that point into them (diagnostics.go), those of HCL in our words (wording.go). It does not
// know what blocks mean.
package source
