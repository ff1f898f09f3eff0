//go:build linux

// Command vmtest runs the kernel tests of this repository where they can run: on this
// machine's kernel or, if that lacks a feature, in a virtual machine with a full one.
//
//	vmtest host -record FILE [-exec PROGRAM] [-skip REGEXP] PACKAGE…   run them here, and record how each ended
//	vmtest vm FILE…                                     run in a machine what was skipped here
//
// A test that cannot run skips itself with a reason that contains "this machine lacks"
// or "this kernel lacks", as engine.UnsupportedError does; tests skipped for any other
// reason are left alone. vmtest vm compiles the packages of those tests, boots one
// machine, runs them there by name (pick.go), and prints one table (table.go). It fails
// if a test failed or was skipped in both places, or if the machine cannot run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/netlab/netlab/datapath/vm"
)

func main() {
	vm.Main() // this program is also the machine's init
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vmtest:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{""}
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	switch args[0] {
	case "host":
		record := flags.String("record", "", "append how each test ended to this file")
		program := flags.String("exec", "", "run the tests with this program, as go test -exec")
		skip := flags.String("skip", "", "leave out tests that match, as go test -skip")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return onHost(ctx, *record, []string{"-exec", *program, "-skip", *skip}, flags.Args())
	case "vm":
		cover := flags.String("cover", "", "write coverage profiles into this folder")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return inMachine(ctx, flags.Args(), *cover)
	}
	return fmt.Errorf("usage: vmtest host -record FILE [-exec PROGRAM] [-skip REGEXP] PACKAGE… | vmtest vm [-cover FOLDER] FILE…")
}
