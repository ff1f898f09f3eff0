package labs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

func logsCommand(u ui) *cobra.Command {
	var o logsOptions
	c := &cobra.Command{
		Use: "logs [TARGET]",
		Long: `Print what programs of pods (command = […]) wrote to standard output and error, of one pod or
of all, and when they ended. The last 64 KiB of each are kept. Pods without a command write
nothing: netlab itself answers on their ports. The name of a node means the agents on it
(proxy and policies in mode and style exec), proxy@NODE one of them.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeTargets,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.target = args[0]
			}
			return u.logs(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.lab, "lab", "", "the lab, if several are running")
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on until interrupted, or until the lab ends")
	return c
}

type logsOptions struct {
	lab, target string
	follow      bool
}

func (u ui) logs(ctx context.Context, o logsOptions) error {
	lab, info, err := Connect(ctx, []string{o.lab})
	if err != nil {
		return err
	}
	all, err := lab.Logs(ctx, nil, false)
	if err != nil {
		return command.Broken(err, "see which labs run: netlab ps")
	}
	only := ""
	switch {
	case len(info.Inventory) == 0 || occupant.IsAgent(o.target): // it is being built: programs may not be ready
		only = o.target
	case o.target != "":
		target, err := find(info, o.target)
		if err != nil {
			return err
		}
		only = target.Display()
	}
	if err := runsPrograms(all, only); err != nil {
		return err
	}
	printer := logPrinter{ui: u, only: only, several: counted(all, only) > 1, after: map[string]int64{}, cut: map[string]bool{}}
	for printer.print(all); o.follow; printer.print(all) {
		switch all, err = lab.Logs(ctx, printer.after, true); {
		case command.Interrupted(ctx):
			return command.ErrInterrupted
		case errors.Is(err, engine.ErrEnded) || errors.Is(err, engine.ErrNotRunning):
			return nil
		case err != nil:
			return command.Broken(err, "see which labs run: netlab ps")
		}
	}
	return nil
}

// wrote reports whether a program is meant by the name of a pod, of an agent, or of the node on
// which agents run; an empty one means all.
func wrote(program, only string) bool {
	return only == "" || program == only || occupant.OnNode(program, only)
}

// counted is how many programs a name means.
func counted(all []inside.Output, only string) (n int) {
	for _, o := range all {
		if wrote(o.Name, only) {
			n++
		}
	}
	return n
}

// runsPrograms refuses a pod that runs none.
func runsPrograms(all []inside.Output, only string) error {
	var names []string
	for _, o := range all {
		names = append(names, o.Name)
	}
	switch {
	case counted(all, only) > 0 || only == "":
		return nil
	case len(names) == 0:
		return command.Usage(fmt.Errorf("%s runs no program, nor does any pod of this lab", only), "give a pod one: command = [\"…\"]")
	}
	return command.Usage(fmt.Errorf("%s runs no program", only), "these do: "+strings.Join(names, ", "))
}

// logPrinter prints output, each line after the name of its pod if there are several.
type logPrinter struct {
	ui
	only    string
	several bool
	after   map[string]int64 // what was printed
	cut     map[string]bool  // the last line is not complete
}

func (p *logPrinter) print(all []inside.Output) {
	for _, o := range all {
		if missed := o.First - p.after[o.Name]; missed > 0 && wrote(o.Name, p.only) {
			p.Say("%s: %d bytes before this are no longer kept", o.Name, missed)
		}
		p.after[o.Name] = o.End()
		if !wrote(o.Name, p.only) {
			continue
		}
		for line := range bytes.Lines(o.Text) {
			if p.several && !p.cut[o.Name] {
				p.Print("%s | ", o.Name)
			}
			p.cut[o.Name] = line[len(line)-1] != '\n'
			p.Print("%s", line)
		}
		if p.several && p.cut[o.Name] {
			p.Print("\n") // what another pod writes begins a line
			p.cut[o.Name] = false
		}
	}
}
