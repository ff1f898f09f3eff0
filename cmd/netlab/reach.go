package main

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/suite"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/meaning"
)

func reachCommand(u ui) *cobra.Command {
	var o reachOptions
	c := &cobra.Command{
		Use:   "reach [LAB or FILE]",
		Short: "Show who can reach whom: a truth table per port and protocol",
		Long: `Print who can reach whom on every port that something listens on. Each pair is judged up
to three times: by what services and policies mean, by what the rules do on paper and, in a
running lab, by packets. Where they differ, the cell shows all results, and the command exits
1. With --json, each cell that policies deny names the policy, rule and line; netlab explain
does so for one connection.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return u.reach(c.Context(), args, o) },
	}
	o.flags.Register(c)
	c.Flags().StringSliceVar(&o.ports, "port", nil, "only these: `PORT` or PORT/PROTOCOL (repeatable)")
	u.JSONFlag(c, "the tables")
	return c
}

type reachOptions struct {
	flags command.ScenarioFlags
	ports []string
}

// plane is a port of a protocol, and what listens there.
type plane struct {
	protocol topology.Protocol
	port     uint16
	names    []string
	addrs    []netip.Addr
}

func (u ui) reach(ctx context.Context, args []string, o reachOptions) error {
	path, running, err := u.reachable(ctx, args, &o.flags)
	if err != nil {
		return err
	}
	s, p, err := u.Compile(path, o.flags)
	if err != nil {
		return err
	}
	if err := u.sameAs(ctx, running, p, path); err != nil {
		return err
	}
	planes, err := wanted(planesOf(s.Lab), o.ports)
	if err != nil {
		return err
	}
	if p, err = u.OnPaper(s, p, o.flags); err != nil {
		return err
	}
	u.sayLike(s)
	dialers := s.Lab.Dialers()
	tables, flows := onPaper(s.Lab, p, dialers, planes)
	if running != nil {
		done := u.Working(fmt.Sprintf("dialing %s", command.Plural(len(flows), "connection")))
		err = observeReach(ctx, running, tables, flows)
		done()
		if err != nil {
			return command.Broken(err, "see: netlab status")
		}
	}
	return u.printReach(tables)
}

func (u ui) printReach(tables []reports.Reachability) error {
	for i := range tables {
		for _, row := range tables[i].Cells {
			for k := range row {
				row[k].Judge()
			}
		}
	}
	text, differences := reports.ReachTables(tables, command.Colour(u.Out))
	if u.AsJSON {
		data, err := reports.ReachJSON(tables)
		if err != nil {
			return err
		}
		u.Print("%s", data)
	} else {
		fmt.Fprint(u.Out, text) // its own colours are meant
	}
	if differences > 0 {
		return command.Told(command.ExitFailed)
	}
	return nil
}

// planesOf are the ports on which pods and clients listen, by protocol and number.
func planesOf(lab *topology.Lab) []plane {
	var all []plane
	add := func(name string, addrs []netip.Addr, ports []topology.Port) {
		for _, p := range ports {
			i := slices.IndexFunc(all, func(x plane) bool { return x.protocol == p.Protocol && x.port == p.Number })
			if i < 0 {
				i = len(all)
				all = append(all, plane{protocol: p.Protocol, port: p.Number})
			}
			for _, a := range addrs {
				label := name
				if len(addrs) > 1 {
					label += map[bool]string{false: "/4", true: "/6"}[a.Is6()]
				}
				if k := slices.Index(all[i].addrs, a); k >= 0 { // of pods of different nodes
					all[i].names[k] += "," + label
					continue
				}
				all[i].names, all[i].addrs = append(all[i].names, label), append(all[i].addrs, a)
			}
		}
	}
	for _, p := range lab.Pods {
		add(p.AgentName(), p.Addrs, p.Ports)
	}
	for _, c := range lab.Clients {
		add(c.Name, c.Addrs, c.Ports)
	}
	slices.SortStableFunc(all, func(a, b plane) int {
		return cmp.Or(cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.port, b.port))
	})
	return all
}

// wanted are the planes that the user asked for: 80, or 53/udp; all if none is given.
func wanted(all []plane, ports []string) ([]plane, error) {
	if len(ports) == 0 {
		return all, nil
	}
	var out []plane
	for _, text := range ports {
		number, protocol, _ := strings.Cut(text, "/")
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return nil, command.Usage(fmt.Errorf("--port %s is not a port", text), "write, for example, --port 80 or --port 53/udp")
		}
		found := false
		for _, p := range all {
			if uint64(p.port) == n && (protocol == "" || protocol == string(p.protocol)) {
				out, found = append(out, p), true
			}
		}
		if !found {
			return nil, command.Usage(fmt.Errorf("nothing listens on port %s", text), "list all ports: leave out --port")
		}
	}
	return out, nil
}

func dialerName(d topology.Dialer) string {
	switch {
	case d.Pod != nil:
		return d.Pod.AgentName()
	case d.Node != nil:
		return d.Node.Name
	case d.Router != nil:
		return d.Router.Name
	}
	return d.Client.Name
}

// onPaper judges by what services and policies mean, and by what the rules do. The flows are
// those of all cells, in order.
func onPaper(lab *topology.Lab, p *plan.Plan, dialers []topology.Dialer, planes []plane) (tables []reports.Reachability, flows []flow.Flow) {
	world := walk.New(p)
	for _, x := range planes {
		t := reports.Reachability{Protocol: flow.Protocol(x.protocol), Port: x.port, To: x.names}
		for _, d := range dialers {
			t.From = append(t.From, dialerName(d))
			row := make([]reports.Cell, 0, len(x.addrs))
			for _, a := range x.addrs {
				to := netip.AddrPortFrom(a, x.port)
				var c reports.Cell
				for _, end := range meaning.Reach(lab, d, to, x.protocol) {
					c.Expected = with(c.Expected, end.Outcome)
				}
				f := flow.Flow{From: d.Netns(), To: to, Protocol: flow.Protocol(x.protocol), Within: time.Second}
				flows = append(flows, f)
				prediction := world.Walk(f)
				for _, end := range prediction.Results() {
					c.Predicted = with(c.Predicted, end.Value.Outcome)
				}
				c.Because = strings.Join(suite.DeniedBy(lab, prediction), "; ")
				row = append(row, c)
			}
			t.Cells = append(t.Cells, row)
		}
		tables = append(tables, t)
	}
	return tables, flows
}

func with(list []flow.Outcome, o flow.Outcome) []flow.Outcome {
	if slices.Contains(list, o) {
		return list
	}
	return append(list, o)
}

// runningLab is a lab that can be queried, such as an *engine.Client.
type runningLab interface {
	Probe(ctx context.Context, flows []flow.Flow) ([]flow.Observation, error)
	Read(ctx context.Context) (have, want *plan.Plan, err error)
}

// sameAs refuses to compare a lab with a file that it was not made from.
func (u ui) sameAs(ctx context.Context, running runningLab, p *plan.Plan, path string) error {
	if running == nil {
		return nil
	}
	_, want, err := running.Read(ctx)
	if err != nil {
		return command.Broken(err, "see: netlab status")
	}
	if !plan.Diff(want, p).Empty() {
		return command.Usage(fmt.Errorf("the lab does not match %s", path), "update it: netlab up "+path+", or give the same --var here")
	}
	return nil
}

// observeReach dials all cells concurrently, and those that are not as expected once
// more: a packet may be lost during neighbour discovery.
func observeReach(ctx context.Context, lab runningLab, tables []reports.Reachability, flows []flow.Flow) error {
	var cells []*reports.Cell
	for i := range tables {
		for _, row := range tables[i].Cells {
			for k := range row {
				cells = append(cells, &row[k])
			}
		}
	}
	for again := range 2 {
		var some []flow.Flow
		var places []int
		for i, c := range cells {
			c.Judge()
			if again == 0 || c.Disagrees {
				some, places = append(some, flows[i]), append(places, i)
			}
		}
		seen, err := lab.Probe(ctx, some)
		if err != nil {
			return err
		}
		for i, place := range places {
			cells[place].Observed = []flow.Outcome{seen[i].Outcome}
		}
	}
	return nil
}
