package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/plan/feature"
)

func doctorCommand(u ui) *cobra.Command {
	c := &cobra.Command{
		Use: "doctor",
		Long: `Try every feature that labs can need, in a scratch namespace. Exits 3 when a basic one
is missing, so that no lab can run here.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			checks, err := examine(c.Context())
			if err != nil {
				return err
			}
			if u.AsJSON {
				err = u.JSON(checks)
			} else {
				err = u.printChecks(checks)
			}
			if err == nil && !usable(checks) {
				err = command.Told(command.ExitUnsupported)
			}
			return err
		},
	}
	u.JSONFlag(c, "the findings")
	return c
}

// check is the finding about one feature.
type check struct {
	Feature string `json:"feature"`
	OK      bool   `json:"ok"`
	Why     string `json:"why,omitempty"` // why it is missing
	Costs   string `json:"costs,omitempty"`
	Module  string `json:"module,omitempty"`
	Config  string `json:"config,omitempty"`
	WayOut  string `json:"way_out,omitempty"`
	Basic   bool   `json:"basic"` // no lab runs without it
}

// examine tries all features where labs will use them: inside an engine.
func examine(ctx context.Context) ([]check, error) {
	lab, err := engine.Start(ctx, "")
	var isolation *engine.IsolationError
	if errors.As(err, &isolation) {
		c := lacking(feature.UserNS, err)
		c.Basic, c.Module = true, ""
		return []check{c}, nil
	}
	if errors.As(err, new(*engine.LimitError)) {
		return nil, command.Broken(err, "raise that limit, and try again")
	}
	if err != nil {
		return nil, command.Broken(err, "try again; netlab could not start a scratch lab")
	}
	defer lab.Abandon()
	missing, err := lab.Missing(ctx)
	if err != nil {
		return nil, command.Broken(err, "try again; netlab could not start a scratch lab")
	}
	var list []check
	for _, f := range feature.All() {
		if why := missing[f]; why != nil {
			list = append(list, lacking(f, why))
		} else {
			list = append(list, check{Feature: string(f), OK: true, Basic: basic(f)})
		}
	}
	return list, nil
}

func lacking(f feature.Feature, why error) check {
	about := f.About()
	return check{Feature: string(f), Basic: basic(f), Why: why.Error(), Costs: about.Costs, Module: about.Module, Config: about.Config, WayOut: about.RemedyWhere(features.Loadable)}
}

// basic reports whether every lab needs the feature. User namespaces are not
// basic: root does not need them, and without root the engine does not even start.
func basic(f feature.Feature) bool {
	return f == feature.NetNS || f == feature.Veth || f == feature.Bridge
}

func usable(checks []check) bool {
	return !slices.ContainsFunc(checks, func(c check) bool { return c.Basic && !c.OK })
}

func (u ui) printChecks(checks []check) error {
	w := tabwriter.NewWriter(u.Text(), 0, 0, 2, ' ', 0)
	lacking := 0
	for _, c := range checks {
		if c.OK {
			fmt.Fprintf(w, "ok\t%s\n", c.Feature)
			continue
		}
		lacking++
		fmt.Fprintf(w, "--\t%s\t%s\n", c.Feature, c.Why)
		fmt.Fprintf(w, "\t\twithout it: %s\n", c.Costs)
		fmt.Fprintf(w, "\t\thow to get it: %s\n", c.WayOut)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	text, err := verdict(checks, lacking)
	u.Print("\n%s", text)
	return err
}

// verdict lists which modes, proxies and styles of the catalogue work here.
func verdict(checks []check, lacking int) (string, error) {
	if !usable(checks) {
		return "no lab can run on this machine; in a virtual machine it can: netlab vm test FILE\n", nil
	}
	missing := map[feature.Feature]bool{}
	for _, c := range checks {
		missing[feature.Feature(c.Feature)] = !c.OK
	}
	all, err := choices()
	if err != nil {
		return "", err
	}
	text := ""
	for _, c := range all {
		answer := "yes"
		if i := slices.IndexFunc(c.needs, func(f feature.Feature) bool { return missing[f] }); i >= 0 {
			answer = fmt.Sprintf("no: %s is missing", c.needs[i])
		}
		text += fmt.Sprintf("%-28s %s\n", c.name, answer)
	}
	if lacking == 0 {
		return text + "nothing is missing\n", nil
	}
	text += "a virtual machine has what is missing: netlab vm test FILE\n"
	return text, nil
}
