package labs

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/plan"
)

func statusCommand(u ui) *cobra.Command {
	c := &cobra.Command{
		Use: "status [LAB or FILE]",
		Long: `Compare the kernel with the plan that was applied last. Exits 0 when they are equal,
1 when something is missing, different or extra, a program of a pod or the janitor of the lab
has ended, or BGP has not learned what the plan says. With -v it also prints the commands that put that right, as
netlab up does. IPVS real servers that left the plan and are draining are listed, but are not
drift, nor is what the checks of load balancers find.

All that the kernel looks at when it forwards a packet is read: links and their settings, bridge
ports, addresses, routes of all tables, routing rules, neighbours and what was learned about them,
multicast groups and routes, qdiscs, rules of iptables, ip6tables, iptables-legacy, ebtables,
arptables and nf_tables, sets, virtual servers and IPsec, in every namespace.

In a large lab, up may return before it has checked the namespaces that its change does not
touch. Status waits for that check and reports what it repaired; with -v, line by line.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeLabs,
		RunE: func(c *cobra.Command, args []string) error {
			lab, info, err := Connect(c.Context(), args)
			if err != nil {
				return err
			}
			have, want, err := lab.Read(c.Context())
			if err != nil {
				return command.Broken(err, "remove it: netlab down "+info.Name)
			}
			// Again: what the check after the last change found is known by now.
			now, err := lab.Info(c.Context())
			if err != nil {
				return command.Broken(err, "remove it: netlab down "+info.Name)
			}
			info = now
			drift := plan.Drift(have, want)
			if !lab.Guarded() {
				drift = append(drift, "the janitor is gone: nobody would remove the lab's folder if its engine were killed")
			}
			repair := []string{}
			if len(drift) > 0 && (u.AsJSON || u.Verbose) {
				repair = append(repair, plan.Diff(have, want.Adopt(have, want)).Lines()...)
			}
			if u.AsJSON {
				if drift == nil {
					drift = []string{}
				}
				draining := info.Draining
				if draining == nil {
					draining = []engine.Draining{}
				}
				err = u.JSON(map[string]any{"lab": info.Name, "drift": drift, "repair": repair, "fault": info.Fault, "draining": draining, "checks": append([]inside.Checked{}, info.Checks...), "programs": append([]inside.Program{}, info.Programs...),
					"repaired": info.Check.Summary, "check_error": info.Check.Err})
			} else {
				u.printDrift(info, drift, repair)
				u.printLost(info.Sessions)
				u.sayUserSpace(have)
				u.sayAgents(want)
				u.printPrograms(info.Programs, func(p inside.Program) bool { return p.Restarts > 0 })
				u.printDraining(info.Draining)
				u.printChecks(info.Checks)
				u.sayCheck(info.Name, info.Check)
			}
			if err == nil && len(drift) > 0 {
				err = command.Told(command.ExitFailed)
			}
			return err
		},
	}
	u.JSONFlag(c, "the drift")
	return c
}

// printDraining lists real servers that are draining, which is not drift.
func (u ui) printDraining(list []engine.Draining) {
	for _, l := range list {
		u.Print("%s: real server %s of %s %s is draining: %s, %d closing\n", l.Netns, l.Real, l.Proto, l.Virtual,
			command.Plural(l.Active, "connection"), l.Inactive)
	}
}

// sayCheck reports what was found after the last up returned.
func (u ui) sayCheck(name string, check engine.Check) {
	if check.Err != "" {
		u.Say("%s: the check after the last up failed: %s", name, check.Err)
	}
	if check.Summary == "" {
		return
	}
	u.Say("%s: the check after the last up repaired: %s", name, check.Summary)
	if u.Verbose {
		for _, line := range check.Lines {
			u.Say("%s", line)
		}
	}
}

// sayUserSpace says how WireGuard is done, in a lab that has it.
func (u ui) sayUserSpace(have *plan.Plan) {
	for _, n := range have.Netns {
		for _, l := range n.Links {
			switch {
			case l.UserSpace:
				u.Say("%s", engine.WireGuardInUserSpace)
				return
			case l.Type == plan.WireGuard:
				u.Say("WireGuard is the kernel's")
				return
			}
		}
	}
}

// sayAgents says on which nodes agents make rules, sets and settings that no plan has.
func (u ui) sayAgents(p *plan.Plan) {
	var nodes []string
	for i := range p.Netns {
		if n := &p.Netns[i]; n.HasAgent() {
			nodes = append(nodes, strings.TrimPrefix(n.Name, "node."))
		}
	}
	if len(nodes) > 0 {
		u.Say("what the agents have made on %s is theirs, and left alone", strings.Join(nodes, ", "))
	}
}

func (u ui) printDrift(info engine.Info, drift, repair []string) {
	name, file := info.Name, relative(info.File)
	if len(drift) == 0 && info.Fault != "" {
		u.Print("%s: as planned, with the fault %q\n", name, info.Fault)
		u.Say("put it right: netlab up %s", file)
		return
	}
	if len(drift) == 0 {
		u.Print("%s: as planned\n", name)
		return
	}
	for _, line := range drift {
		u.Print("%s\n", line)
	}
	for i, line := range repair {
		if i == 0 {
			u.Say("these commands put it right:")
		}
		u.Print("%s\n", line)
	}
	u.Say("%s has drifted in %s; repair it: netlab up %s", name, command.Plural(len(drift), "place"), file)
}
