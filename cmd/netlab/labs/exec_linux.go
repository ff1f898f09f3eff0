package labs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/engine/inside"
)

func execCommand(u ui) *cobra.Command {
	var o execOptions
	c := &cobra.Command{
		Use: "exec TARGET -- CMD…",
		Long: `Run a command inside a node, pod or client (web-0, node1, laptop; db/web-0 in another
namespace), and exit with its status. The command sees the files of this machine and the
network of the target; names of the lab resolve, in a lab with name servers as in its pods: the
target asks them, or does not. In a pod that runs a program of the scenario
it also sees the files of that pod. With --confined it sees and may do no more than a
program there: what a scenario starts does not have your files and rights. The files of
a pod without a program are seen so alone.

  netlab exec laptop -- curl node1:31380
  netlab exec -it node1 -- watch ip -s link`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: completeTargets,
		RunE: func(c *cobra.Command, args []string) error {
			o.target, o.argv = args[0], args[1:]
			if o.argv[0] == "--" {
				o.argv = o.argv[1:]
			}
			if len(o.argv) == 0 {
				return command.Usage(errors.New("no command"), "usage: netlab exec "+o.target+" -- CMD…")
			}
			return u.exec(c.Context(), o)
		},
	}
	c.Flags().SetInterspersed(false)
	o.register(c)
	c.Flags().BoolVarP(&o.interactive, "interactive", "i", false, "keep standard input open (always on)")
	c.Flags().BoolVar(&o.confined, "confined", false, "run it as a program of the scenario would run there: without this machine's private files, and your environment and rights")
	c.Flags().BoolVarP(&o.tty, "tty", "t", false, "give the command a terminal")
	return c
}

func shellCommand(u ui) *cobra.Command {
	var o execOptions
	c := &cobra.Command{
		Use: "shell TARGET",
		Long: `Open your shell in a node, pod or client, with a prompt that names it. Standard
input may be a script: netlab shell node1 <script.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTargets,
		RunE: func(c *cobra.Command, args []string) error {
			o.target, o.shell = args[0], true
			o.tty = command.IsTerminal(os.Stdin)
			return u.exec(c.Context(), o)
		},
	}
	o.register(c)
	return c
}

type execOptions struct {
	lab, target      string
	argv             []string
	interactive, tty bool
	shell            bool
	confined         bool
}

func (o *execOptions) register(c *cobra.Command) {
	c.Flags().StringVar(&o.lab, "lab", "", "the lab, if several are running")
}

func (u ui) exec(ctx context.Context, o execOptions) error {
	lab, info, err := Connect(ctx, []string{o.lab})
	if err != nil {
		return err
	}
	target, err := find(info, o.target)
	if err != nil {
		return err
	}
	dir, _ := os.Getwd()
	cmd := engine.Command{Netns: target.Netns, Confined: o.confined, Argv: o.argv, Env: os.Environ(), Dir: dir,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if target.Kind == "pod" {
		cmd.Program = target.Display()
	}
	if o.shell {
		cmd.Argv, cmd.Env = shellFor(target.Name, cmd.Env)
	}
	// From here on, signals are for the command.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	cmd.Signals = signals
	ctx, release := untilTimeout(ctx)
	defer release()
	var status int
	if o.tty {
		if err := command.NeedTerminal(); err != nil {
			return err
		}
		status, err = withTerminal(ctx, lab, cmd)
	} else {
		status, err = lab.Exec(ctx, cmd)
	}
	if err != nil {
		return execFailed(err)
	}
	if status != 0 {
		return command.Told(status)
	}
	return nil
}

// untilTimeout is a context that --timeout ends, but signals do not.
func untilTimeout(ctx context.Context) (running context.Context, release func()) {
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !command.Interrupted(ctx) {
			end(context.Cause(ctx))
		}
	})
	return running, func() { stop(); end(nil) }
}

// execFailed gives the error of a program that did not run to completion the exit
// code that shells use.
func execFailed(err error) error {
	var fault *inside.CommandError
	switch {
	case errors.As(err, &fault) && fault.NotFound:
		return &command.Error{Err: err, Code: 127, Hint: "the program must be installed on this machine: labs share its files"}
	case errors.As(err, &fault):
		return &command.Error{Err: err, Code: 126, Hint: "name a program that can be run: netlab exec TARGET -- PROGRAM"}
	default:
		return command.Broken(err, "see which labs run: netlab ps")
	}
}

// shellFor is the user's shell with a prompt that names the target.
func shellFor(name string, env []string) (argv, withPrompt []string) {
	shell := os.Getenv("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	prompt := fmt.Sprintf("[%s] \\w \\$ ", name)
	switch filepath.Base(shell) {
	case "bash":
		// The user's own start-up file would set the prompt again; this runs after it.
		env = append(env, fmt.Sprintf("PROMPT_COMMAND=PS1='%s'", prompt))
	case "zsh":
		env = append(env, fmt.Sprintf("PROMPT=[%s] %%~ %%# ", name))
	default:
		env = append(env, fmt.Sprintf("PS1=[%s] $ ", name))
	}
	return []string{shell}, append(env, "NLAB_PLACE="+name)
}
