// Package nft is the vocabulary of nf_tables in plans: tables with their sets, maps,
// chains and rules as values. text.go writes a table as nft prints it, command.go lists
// the commands of a change, which are printed and sent.
//
// It knows neither the kernel's instructions nor netlink: those are in package kernel.
package nft
