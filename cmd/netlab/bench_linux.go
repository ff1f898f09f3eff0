package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/bench"
)

func benchCommand(u ui) *cobra.Command {
	var rounds int
	var only string
	c := &cobra.Command{
		Use: "bench [FILE]",
		Long: `Compare netlab with a baseline, a bare loop that makes the same kernel objects by raw
netlink and nothing else. Both run in turns; the medians and their ratios are printed. FILE
is the small scenario for whole-process times (scenarios/local-policy.hcl). Exits 1 when a
goal is missed: on a busy machine, measure again.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			file := "scenarios/local-policy.hcl"
			if len(args) > 0 {
				file = args[0]
			}
			if rounds < 1 {
				return command.Usage(errors.New("--rounds must be at least 1"), "write, for example, --rounds 5")
			}
			if only != "" && !slices.Contains(bench.Parts(), only) {
				return command.Usage(fmt.Errorf("--only %s is not a group of measurements", only), "use one of "+strings.Join(bench.Parts(), ", "))
			}
			program, err := os.Executable()
			if err != nil {
				return command.Broken(err, "")
			}
			o := bench.Options{Rounds: rounds, Only: only, Program: program, Scenario: file,
				Progress: func(what string) { u.Say("measuring %s, %s", what, command.Plural(rounds, "round")) }}
			if bench.UsesScenario(only) {
				s, err := u.Load(file, command.ScenarioFlags{})
				if err != nil {
					return err
				}
				l := s.Lab
				o.Shape = bench.Shape{Nodes: len(l.Nodes), Clients: len(l.Clients), Pods: len(l.Pods), Services: 1, Endpoints: len(l.Pods)}
			}
			rows, err := bench.Table(c.Context(), o)
			if err != nil {
				return command.Broken(err, "see what this machine can do: netlab doctor")
			}
			if u.AsJSON {
				return u.JSON(rows)
			}
			return u.benchTable(rows)
		},
	}
	c.Flags().IntVar(&rounds, "rounds", 5, "how many times each is measured")
	c.Flags().StringVar(&only, "only", "", "only this `GROUP`: "+strings.Join(bench.Parts(), ", "))
	u.JSONFlag(c, "the measurements")
	return c
}

func (u ui) benchTable(rows []bench.Row) error {
	w := tabwriter.NewWriter(u.Text(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tNETLAB\tFLOOR\tMEDIAN\tGOAL\t")
	missed := false
	for _, r := range rows {
		mark := "met"
		switch {
		case !r.OK:
			mark, missed = "missed", true
		case r.Goal == "":
			mark = ""
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.What, r.Netlab, r.Floor, r.Got, r.Goal, mark)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if missed {
		return command.Told(command.ExitFailed)
	}
	return nil
}
