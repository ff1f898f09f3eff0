// Command netlab turns one scenario file into a real multi-node network on one
// Linux machine, and proves what the file claims.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/cmd/netlab/proof"
	"github.com/netlab/netlab/topology"
)

func main() { start(command.New(os.Stdin, os.Stdout, os.Stderr)) }

// start is main with what reads and prints for it.
func start(u *command.UI) {
	child() // does not return if this process is part of a lab
	if err := limits(); err != nil {
		os.Exit(u.Finish(err))
	}
	debug.SetGCPercent(300) // a large plan is made at once, and soon the command ends
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second interrupt kills the command immediately; its lab goes with it.
	context.AfterFunc(ctx, stop)
	// Signals are caught to the end: one that comes when all is done changes nothing.
	os.Exit(run(ctx, u, os.Args[1:]))
}

// run is the whole command: it returns the exit code (see command/exit.go).
func run(ctx context.Context, u *command.UI, args []string) int {
	root := rootCommand(u)
	root.SetArgs(args)
	root.SetIn(u.In)
	root.SetOut(u.Out)
	root.SetErr(u.Errs)
	if c, _, err := root.Find(args); err == nil && c.Flags().Lookup("json") != nil {
		u.AsJSON = slices.Contains(args, "--json")
	}
	err := root.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil && !errors.As(err, new(*command.TimeoutError)) && !command.IsTold(err) {
		err = command.ErrInterrupted
	}
	return u.Finish(err)
}

func rootCommand(shared *command.UI) *cobra.Command {
	u := ui{shared}
	root := &cobra.Command{
		Use:   "netlab",
		Short: "Real multi-node networks from one file, proved with real packets",
		Long: `netlab turns one HCL file into a real multi-node network on this machine, made of
network namespaces, and proves with real packets what the file claims.

  netlab up scenarios/local-policy.hcl     build it
  netlab exec laptop -- curl node1:31380   look around
  netlab test scenarios/                   prove every expectation
  netlab down                              leave nothing behind

  netlab help language                     what a scenario may hold

With --json an error is an object, too, in place of the answer:
{"error": {"message", "hint", "exit", "diagnostics": […]}}.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var verbs []string
			for _, verb := range c.Commands() {
				verbs = append(verbs, verb.Name())
			}
			return command.Usage(fmt.Errorf("there is no netlab %s.%s", args[0], topology.DidYouMean(args[0], verbs)), "see: netlab --help")
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return command.Usage(err, "see: "+c.CommandPath()+" --help")
	})
	flags := root.PersistentFlags()
	flags.BoolVarP(&u.Verbose, "verbose", "v", false, "show each kernel change as a command line")
	flags.DurationVar(&u.Timeout, "timeout", 0, "give up after this long (0: never)")
	root.AddCommand(planCommand(u), explainCommand(u), reachCommand(u), validateCommand(u), proof.TestCommand(shared), fmtCommand(u), importCommand(u), exportCommand(u), initCommand(u), proof.TourCommand(shared), versionCommand(u))
	root.AddCommand(kernelCommands(u)...)
	help := helpCommand(u)
	root.AddCommand(help)
	root.SetHelpCommand(help)
	for _, c := range root.Commands() {
		command.Guard(shared, c, changes[c.Name()])
	}
	return root
}

// changes are the verbs that change something, and so end by themselves after a signal, when
// they have cleaned up. Any other can be given up at any moment.
var changes = map[string]bool{
	"up": true, "down": true, "test": true, "exec": true, "shell": true, "kubectl": true, "api": true, "vm": true, "bench": true, "doctor": true, "fmt": true, "init": true, "tour": true,
}

// ui is what the commands of this package print to.
type ui struct{ *command.UI }
