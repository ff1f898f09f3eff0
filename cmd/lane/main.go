//go:build linux

// Command lane runs the kernel tests of this repository where they can run: on this
// machine's kernel, and what that lacks in a virtual machine with a full one.
//
//	lane host -record FILE [-exec PROGRAM] [-skip REGEXP] PACKAGE…   run them here, and note how each ended
//	lane vm FILE…                                     run in the machine what was skipped here
//
// A test that cannot run skips itself with a reason that contains "this machine lacks"
// or "this kernel lacks", as engine.UnsupportedError has it; all other reasons are its
// own business.
// lane vm compiles the packages of those tests, boots one machine, runs them there by
// name (pick.go), and prints one table (table.go). It fails when a test failed, was
// skipped in both places, or when the machine cannot run.
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
	vm.Main() // this program is also the init of the machine
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lane:", err)
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
		program := flags.String("exec", "", "run the tests by this program, as go test -exec")
		skip := flags.String("skip", "", "leave out tests that match, as go test -skip")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return onHost(ctx, *record, hostFlags(*program, *skip), flags.Args())
	case "vm":
		cover := flags.String("cover", "", "write coverage profiles into this folder")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return inMachine(ctx, flags.Args(), *cover)
	}
	return fmt.Errorf("usage: lane host -record FILE [-exec PROGRAM] [-skip REGEXP] PACKAGE… | lane vm [-cover FOLDER] FILE…")
}

// hostFlags are the flags of go test on the host.
func hostFlags(program, skip string) []string {
	var list []string
	if program != "" {
		list = append(list, "-exec", program)
	}
	if skip != "" {
		list = append(list, "-skip", skip)
	}
	return list
}
