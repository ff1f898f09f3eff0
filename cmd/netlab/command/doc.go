// Package command is what all verbs of netlab share: exit codes (exit.go), what goes to the
// terminal (ui.go), flags that wrap every command (guard.go), and reading scenarios
// (scenario.go). It does not know any verb.
package command
