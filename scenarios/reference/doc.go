// Package reference prints the language of scenarios from the tables that scenarios are
// read by: for `netlab help language`, and as scenarios/LANGUAGE.md. It finds for every
// block and attribute the scenarios that ship and use it.
//
// Start with Find in tree.go.
package reference
