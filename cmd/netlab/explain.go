package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/scenarios/suite"
	"github.com/netlab/netlab/topology"
)

func explainCommand(u ui) *cobra.Command {
	var o explainOptions
	c := &cobra.Command{
		Use:   "explain FROM TO",
		Short: "Follow one packet on paper: every hop, table, chain and rule",
		Long: `Follow a packet from a pod, node or client to a service, pod, node, client or
address:port through the plan of a scenario. Needs no kernel. Every rule that matters is
shown with the object and the line that it serves, and every possible path with its
probability.

  netlab explain -f scenarios/local-policy.hcl laptop 192.168.0.11:31380
  netlab explain -f scenarios/services/cluster-ip.hcl shell web`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			o.from, o.to = args[0], args[1]
			if err := o.flags.Vary(o.matrix); err != nil {
				return err
			}
			return u.explain(o)
		},
	}
	o.flags.Register(c)
	f := c.Flags()
	f.StringVarP(&o.file, "file", "f", "", "the `SCENARIO` (default: the one in this folder)")
	f.StringVarP(&o.protocol, "protocol", "p", "", "`PROTOCOL`: tcp, udp or sctp (default: that of the port)")
	f.BoolVar(&o.udp, "udp", false, "the same as --protocol udp")
	f.StringArrayVar(&o.matrix, "matrix", nil, "follow it in one combination of a matrix: `AXIS=VALUE` (repeatable)")
	f.BoolVar(&o.all, "all", false, "show every step, including those that change nothing")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.mermaid, "mermaid", false, "print a Mermaid sequence diagram")
	return c
}

type explainOptions struct {
	flags          command.ScenarioFlags
	file, from, to string
	protocol       string
	matrix         []string
	udp, all       bool
	json, mermaid  bool
}

func (u ui) explain(o explainOptions) error {
	var args []string
	if o.file != "" {
		args = []string{o.file}
	}
	path, err := command.TheScenario(args)
	if err != nil {
		return err
	}
	s, p, err := u.Compile(path, o.flags)
	if err != nil {
		return err
	}
	protocol := topology.Protocol(o.protocol)
	if o.udp {
		protocol = topology.UDP
	}
	if !slices.Contains([]topology.Protocol{"", topology.TCP, topology.UDP, topology.SCTP}, protocol) {
		return command.Usage(fmt.Errorf("--protocol %s is not a protocol of services", protocol), "write tcp, udp or sctp")
	}
	from, err := names.Dialer(s.Lab, o.from)
	if err != nil {
		return command.Misnamed(err, "usage: netlab explain -f "+path+" FROM TO")
	}
	to, protocol, err := names.Listener(s.Lab, o.to, protocol)
	if err != nil {
		return command.Misnamed(err, "usage: netlab explain -f "+path+" FROM TO")
	}
	f := flow.Flow{From: from.Netns, To: to.Addr, Protocol: flow.Protocol(protocol), Within: time.Second}
	prediction := walk.New(p).Walk(f)
	if err := u.printPrediction(prediction, o); err != nil || o.json || o.mermaid {
		return err
	}
	for _, text := range suite.Decisions(s.Lab, prediction) {
		u.Print("\n%s", text)
	}
	return nil
}

func (u ui) printPrediction(p walk.Prediction, o explainOptions) error {
	switch {
	case o.json:
		return u.JSON(p)
	case o.mermaid:
		u.Print("%s", render.Mermaid(p))
	case o.all:
		u.Print("%s", render.Text(p, render.Full))
	default:
		u.Print("%s", render.Text(p, render.Brief))
	}
	return nil
}
