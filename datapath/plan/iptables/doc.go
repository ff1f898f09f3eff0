// Package iptables is the vocabulary of iptables in plans: tables, chains and rules as
// values, written as iptables-restore reads them and as iptables-save prints them.
// rule.go has the matches and targets, render.go their text; restore.go and chunks.go
// make input for iptables-restore, diff.go the difference of tables.
//
// It knows only rules, not what they are for.
package iptables
