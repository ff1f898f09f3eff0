// Package nftables creates nf_tables tables, and reads them back, as the instructions
// that the kernel runs: compile.go turns rules into them, decompile.go turns them back
// into the text of plans. write.go makes the messages of a change from its commands, in
// order, and apply.go sends them: as one transaction, after what no packet meets yet.
package nftables
