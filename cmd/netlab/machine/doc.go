// Package machine is netlab vm: other commands, run in a virtual machine. It needs a Linux
// kernel.
package machine
