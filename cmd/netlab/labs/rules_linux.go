package labs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/scenarios/language/names"
)

func rulesCommand(u ui) *cobra.Command {
	var o rulesOptions
	var matrix []string
	c := &cobra.Command{
		Use: "rules [TARGET]",
		Long: `Show the rules that are in the kernel of a running lab, as iptables-save, nft list ruleset and
ipvsadm -Sn print them, each followed by the object that it serves and where that is written.
With --file, show the rules that a scenario would have, without a kernel. TARGET is a node or a
router.

With --counters, also how many packets and bytes a rule has counted since it was created: each of
iptables, those of nf_tables that have a counter, and what IPVS' servers received, which the
kernel adds up every two seconds.

  netlab rules node1 --table nat --counters
  netlab rules -f scenarios/local-policy.hcl node1
  netlab rules -f scenarios/local-policy.hcl node1 --matrix proxy=nftables`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeTargets,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.target = args[0]
			}
			variations, err := command.Variations(matrix)
			switch {
			case err != nil:
				return command.Usage(fmt.Errorf("--matrix: %w", err), "write, for example, --matrix proxy=nftables")
			case len(variations) > 1 && u.AsJSON:
				return command.Usage(errors.New("with --json, rules are those of one combination of the matrix"), "give each axis of --matrix one value")
			case len(matrix) > 0 && o.file == "":
				return command.Usage(errors.New("--matrix is about a scenario, and a running lab has its rules"), "add --file SCENARIO")
			}
			for _, o.flags.Variation = range variations {
				if len(variations) > 1 {
					u.Print("# %s\n", o.flags.Variation)
				}
				if err := u.rules(c, o); err != nil {
					return err
				}
			}
			return nil
		},
	}
	o.flags.Register(c)
	c.Flags().StringVar(&o.lab, "lab", "", "the lab, if several are running")
	c.Flags().StringVarP(&o.file, "file", "f", "", "show the rules of a `SCENARIO` instead of a running lab")
	c.Flags().StringVarP(&o.table, "table", "t", "", "only this `TABLE`: filter, mangle, nat or raw, ipvs, or one of nf_tables by its name")
	c.Flags().StringArrayVar(&matrix, "matrix", nil, "with --file, in combinations of a matrix: `AXIS=VALUE,...` (repeatable)")
	c.Flags().BoolVarP(&o.counters, "counters", "c", false, "what rules have counted, too")
	c.MarkFlagsMutuallyExclusive("file", "counters")
	u.JSONFlag(c, "the rules")
	return c
}

type rulesOptions struct {
	flags                    command.ScenarioFlags
	lab, file, target, table string
	counters                 bool
}

func (u ui) rules(c *cobra.Command, o rulesOptions) error {
	have, want, counted, netns, err := u.rulesOf(c, o)
	if err != nil {
		return err
	}
	if err := o.knows(have); err != nil {
		return err
	}
	var lines []ruleLine
	for i := range have.Netns {
		n := &have.Netns[i]
		if netns == "" || n.Name == netns {
			lines = append(lines, annotate(n, netnsOf(want, n.Name), o.table)...)
		}
	}
	count(lines, counted)
	if u.AsJSON {
		if lines == nil {
			lines = []ruleLine{}
		}
		return u.JSON(lines)
	}
	if len(lines) == 0 {
		u.Say("there are no such rules; only nodes and routers have rules: netlab inspect lists them")
	}
	u.printRules(lines)
	return nil
}

// rulesOf returns what is in the kernel, what was planned, and what rules have counted; from a
// file the first two are the plan.
func (u ui) rulesOf(c *cobra.Command, o rulesOptions) (have, want *plan.Plan, counted []plan.Counted, netns string, err error) {
	if o.file != "" {
		o.flags.Looking = true
		s, p, err := u.Compile(o.file, o.flags)
		if err != nil {
			return nil, nil, nil, "", err
		}
		if o.target != "" {
			place, err := names.Dialer(s.Lab, o.target)
			if err != nil {
				return nil, nil, nil, "", command.Misnamed(err, "usage: netlab rules -f "+o.file+" TARGET")
			}
			netns = place.Netns
		}
		return p, p, nil, netns, nil
	}
	lab, info, err := Connect(c.Context(), []string{o.lab})
	if err != nil {
		return nil, nil, nil, "", err
	}
	if o.target != "" {
		place, err := find(info, o.target)
		if err != nil {
			return nil, nil, nil, "", err
		}
		netns = place.Netns
	}
	have, want, err = lab.ReadAll(c.Context())
	if err == nil && o.counters {
		counted, err = lab.Counters(c.Context())
	}
	if err != nil {
		return nil, nil, nil, "", command.Broken(err, "remove it: netlab down "+info.Name)
	}
	return have, want, counted, netns, nil
}

func netnsOf(p *plan.Plan, name string) *plan.Netns {
	for i := range p.Netns {
		if p.Netns[i].Name == name {
			return &p.Netns[i]
		}
	}
	return &plan.Netns{}
}

// knows reports an error for a table that nothing in the lab has and that iptables has not.
func (o rulesOptions) knows(p *plan.Plan) error {
	known := []string{"filter", "mangle", "nat", "raw", plan.VirtualServers}
	for i := range p.Netns {
		for _, t := range p.Netns[i].NFT {
			known = append(known, t.Name)
		}
	}
	slices.Sort(known)
	if o.table != "" && !slices.Contains(known, o.table) {
		return command.Usage(fmt.Errorf("%q is not a table", o.table), "write one of "+strings.Join(slices.Compact(known), ", "))
	}
	return nil
}
