package labs

import (
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
	c := &cobra.Command{
		Use: "rules [TARGET]",
		Long: `Show the rules that are in the kernel of a running lab, as iptables-save prints them,
each followed by the object that it serves and where that is written. With --file, show the
rules that a scenario would have, without a kernel. TARGET is a node.

  netlab rules node1 --table nat
  netlab rules -f scenarios/local-policy.hcl node1`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeTargets,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.target = args[0]
			}
			return u.rules(c, o)
		},
	}
	o.flags.Register(c)
	c.Flags().StringVar(&o.lab, "lab", "", "the lab, if several are running")
	c.Flags().StringVarP(&o.file, "file", "f", "", "show the rules of a `SCENARIO` instead of a running lab")
	c.Flags().StringVarP(&o.table, "table", "t", "", "only this `TABLE`: filter, mangle, nat or raw")
	u.JSONFlag(c, "the rules")
	return c
}

type rulesOptions struct {
	flags                    command.ScenarioFlags
	lab, file, target, table string
}

func (u ui) rules(c *cobra.Command, o rulesOptions) error {
	if known := []string{"filter", "mangle", "nat", "raw"}; o.table != "" && !slices.Contains(known, o.table) {
		return command.Usage(fmt.Errorf("%q is not a table", o.table), "write one of "+strings.Join(known, ", "))
	}
	have, want, netns, err := u.rulesOf(c, o)
	if err != nil {
		return err
	}
	var lines []ruleLine
	for i := range have.Netns {
		n := &have.Netns[i]
		if netns == "" || n.Name == netns {
			lines = append(lines, annotate(n, netnsOf(want, n.Name), o.table)...)
		}
	}
	if u.AsJSON {
		if lines == nil {
			lines = []ruleLine{}
		}
		return u.JSON(lines)
	}
	if len(lines) == 0 {
		u.Say("there are no such rules; only nodes have rules: netlab inspect lists the nodes")
	}
	u.printRules(lines)
	return nil
}

// rulesOf returns what is in the kernel and what was planned; from a file both are
// the plan.
func (u ui) rulesOf(c *cobra.Command, o rulesOptions) (have, want *plan.Plan, netns string, err error) {
	if o.file != "" {
		s, p, err := u.Compile(o.file, o.flags)
		if err != nil {
			return nil, nil, "", err
		}
		if o.target != "" {
			place, err := names.Dialer(s.Lab, o.target)
			if err != nil {
				return nil, nil, "", command.Misnamed(err, "usage: netlab rules -f "+o.file+" TARGET")
			}
			netns = place.Netns
		}
		return p, p, netns, nil
	}
	lab, info, err := Connect(c.Context(), []string{o.lab})
	if err != nil {
		return nil, nil, "", err
	}
	if o.target != "" {
		place, err := find(info, o.target)
		if err != nil {
			return nil, nil, "", err
		}
		netns = place.Netns
	}
	have, want, err = lab.Read(c.Context())
	if err != nil {
		return nil, nil, "", command.Broken(err, "remove it: netlab down "+info.Name)
	}
	return have, want, netns, nil
}

func netnsOf(p *plan.Plan, name string) *plan.Netns {
	for i := range p.Netns {
		if p.Netns[i].Name == name {
			return &p.Netns[i]
		}
	}
	return &plan.Netns{}
}

// ruleLine is one rule with what it serves.
type ruleLine struct {
	Netns  string `json:"netns"`
	Table  string `json:"table"`
	IPv6   bool   `json:"ipv6,omitempty"`
	Chain  string `json:"chain"`
	Rule   string `json:"rule"` // empty: the chain itself
	Policy string `json:"policy,omitempty"`
	Object string `json:"object,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Extra  bool   `json:"extra,omitempty"` // not in the plan
}

// annotate lists the rules of a namespace with the origins of the same rules in the
// plan.
func annotate(have, want *plan.Netns, table string) []ruleLine {
	type key struct {
		ipv6               bool
		table, chain, rule string
	}
	origins := map[key]plan.Origin{}
	for _, t := range want.Tables {
		for _, c := range t.Chains {
			for i := range c.Rules {
				origins[key{t.IPv6, t.Name, c.Name, c.Rules[i].Save()}] = c.Rules[i].Origin
			}
		}
	}
	var lines []ruleLine
	for _, t := range have.Tables {
		if table != "" && t.Name != table {
			continue
		}
		for _, c := range t.Chains {
			line := ruleLine{Netns: have.Name, Table: t.Name, IPv6: t.IPv6, Chain: c.Name}
			lines = append(lines, line)
			lines[len(lines)-1].Policy = c.Policy
			for i := range c.Rules {
				line.Rule = c.Rules[i].Save()
				origin, planned := origins[key{t.IPv6, t.Name, c.Name, line.Rule}]
				line.Object, line.File, line.Line, line.Extra = origin.Object, origin.File, origin.Line, !planned
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// printRules prints like iptables-save, with a comment after each rule.
func (u ui) printRules(lines []ruleLine) {
	netns, table := "", ""
	for _, l := range lines {
		if at := l.Netns; at != netns {
			u.Print("# %s\n", at)
			netns, table = at, ""
		}
		name := l.Table
		if l.IPv6 {
			name += " (IPv6)"
		}
		if name != table {
			u.Print("*%s\n", name)
			table = name
		}
		if l.Rule == "" {
			policy := l.Policy
			if policy == "" {
				policy = "-"
			}
			u.Print(":%s %s\n", l.Chain, policy)
			continue
		}
		u.Print("-A %s %s%s\n", l.Chain, l.Rule, l.note())
	}
}

func (l ruleLine) note() string {
	switch {
	case l.Extra:
		return "  # not in the plan"
	case l.File != "" && l.Object != "":
		return fmt.Sprintf("  # %s:%d %s", l.File, l.Line, l.Object)
	case l.File != "":
		return fmt.Sprintf("  # %s:%d", l.File, l.Line)
	case l.Object != "":
		return "  # " + l.Object
	}
	return ""
}
