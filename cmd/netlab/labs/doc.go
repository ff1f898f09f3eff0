// Package labs has the verbs for running labs: making, changing and removing them (up_linux.go,
// down_linux.go), running commands in them (exec_linux.go), and showing what is in them. Start
// with labs_linux.go, which finds the lab that the user means. It needs a Linux kernel.
package labs
