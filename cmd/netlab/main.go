// Command netlab turns one scenario file into a real multi-node network on one
// Linux machine, and proves what the file claims.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

func main() {
	child()                 // does not return if this process is part of a lab
	debug.SetGCPercent(300) // a large plan is made at once, and soon the command ends
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second interrupt kills the command immediately; its lab goes with it.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole command: it returns the exit code (see command/exit.go).
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	u := command.New(in, out, errs)
	root := rootCommand(u)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
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
	root.AddCommand(planCommand(u), explainCommand(u), reachCommand(u), validateCommand(u), proof.TestCommand(shared), fmtCommand(u), initCommand(u), versionCommand(u))
	root.AddCommand(kernelCommands(u)...)
	help := helpCommand(u)
	root.AddCommand(help)
	root.SetHelpCommand(help)
	for _, c := range root.Commands() {
		command.Guard(shared, c)
	}
	return root
}

// ui is what the commands of this package print to.
type ui struct{ *command.UI }
