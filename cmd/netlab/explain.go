package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/datapath/walk/trace"
	"github.com/netlab/netlab/scenarios/expect/trial"
	"github.com/netlab/netlab/scenarios/language"
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
address:port through the plan of a scenario: that of the running lab, or with -f any other,
which needs no kernel. Every rule that matters is shown with the object and the line that it
serves, and every possible path with its probability.

  netlab explain -f scenarios/local-policy.hcl laptop 192.168.0.11:31380
  netlab explain -f scenarios/services/cluster-ip.hcl shell web

A request over HTTP is followed through an ingress controller to the pod that answers:

  netlab explain -f scenarios/services/ingress.hcl laptop shop.example:80 --http /cart

In a lab with a dns block, a name that a pod would look up is looked up first, and the query
followed:

  netlab explain -f scenarios/services/dns.hcl shell web.prod:80

In several combinations of a matrix it shows where they part:

  netlab explain -f scenarios/services/cluster-ip.hcl shell web --matrix proxy=iptables,ipvs`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			o.from, o.to = args[0], args[1]
			variations, err := command.Variations(o.matrix)
			if err != nil {
				return command.Usage(fmt.Errorf("--matrix: %w", err), "write, for example, --matrix proxy=iptables,ipvs")
			}
			if len(variations) > 1 {
				return u.compare(c.Context(), o, variations)
			}
			o.flags.Variation = variations[0]
			return u.explain(c.Context(), o)
		},
	}
	o.flags.Register(c)
	o.flags.RegisterFault(c)
	f := c.Flags()
	f.StringVarP(&o.file, "file", "f", "", "the `SCENARIO` (default: that of the running lab, else the one in this folder)")
	f.StringVar(&o.lab, "lab", "", "the lab, if several are running")
	f.StringVarP(&o.protocol, "protocol", "p", "", "`PROTOCOL`: tcp, udp or sctp (default: that of the port)")
	f.BoolVar(&o.udp, "udp", false, "the same as --protocol udp")
	f.IntVar(&o.upload, "upload", 0, "send `BYTES` before the answer, over TCP: do they fit every link on the way?")
	f.StringVar(&o.http, "http", "", "make it a request for a path, such as /cart, or a `URL` whose host is not that of TO: https://shop.example/cart")
	f.StringArrayVar(&o.matrix, "matrix", nil, "follow it in combinations of a matrix, and show where they part: `AXIS=VALUE,...` (repeatable)")
	f.BoolVar(&o.all, "all", false, "show every step, including those that change nothing")
	u.JSONFlag(c, "the prediction")
	f.BoolVar(&o.mermaid, "mermaid", false, "print a Mermaid sequence diagram")
	return c
}

type explainOptions struct {
	flags     command.ScenarioFlags
	file, lab string
	from, to  string
	protocol  string
	matrix    []string
	upload    int
	http      string
	udp, all  bool
	mermaid   bool
}

func (u ui) explain(ctx context.Context, o explainOptions) error {
	o.flags.Looking = true
	path, running, err := u.explainable(ctx, &o)
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
	f, err := o.flow(s, path)
	if err != nil {
		return err
	}
	if p, err = u.OnPaper(s, p, o.flags); err != nil {
		return err
	}
	u.sayLike(s)
	prediction := trial.ByName(walk.New(p), f)
	if err := u.printPrediction(prediction, o); err != nil || u.AsJSON || o.mermaid {
		return err
	}
	var decided []string
	for _, part := range append(slices.Clip(prediction.Asked), prediction) {
		for _, text := range suite.Decisions(s.Lab, part) {
			if !slices.Contains(decided, text) { // a query without an answer is an end of the whole, too
				decided = append(decided, text)
				u.Print("\n%s", text)
			}
		}
	}
	return u.blame(s, o.flags, prediction)
}

// compare follows the flow in several variations of a scenario.
func (u ui) compare(ctx context.Context, o explainOptions, variations []language.Variation) error {
	if o.mermaid {
		return command.Usage(errors.New("a diagram is of one variation"), "leave out --mermaid, or give --matrix one value")
	}
	o.flags.Looking = true
	path, _, err := u.explainable(ctx, &o)
	if err != nil {
		return err
	}
	var list []render.Compared
	for _, v := range variations {
		o.flags.Variation = v
		s, p, err := u.Compile(path, o.flags)
		if err != nil {
			return err
		}
		f, err := o.flow(s, path)
		if err != nil {
			return err
		}
		if p, err = u.OnPaper(s, p, o.flags); err != nil {
			return err
		}
		list = append(list, render.Compared{Name: v.String(), Prediction: trial.ByName(walk.New(p), f)})
	}
	if u.AsJSON {
		return u.JSON(list)
	}
	detail := render.Brief
	if o.all {
		detail = render.Full
	}
	u.Print("%s", render.Compare(list, detail))
	return nil
}

// flow is what is to be followed in a scenario.
func (o *explainOptions) flow(s *language.Scenario, path string) (f flow.Flow, err error) {
	protocol := topology.Protocol(o.protocol)
	if o.udp {
		protocol = topology.UDP
	}
	if !slices.Contains([]topology.Protocol{"", topology.TCP, topology.UDP, topology.SCTP}, protocol) {
		return f, command.Usage(fmt.Errorf("--protocol %s is not a protocol of services", protocol), "write tcp, udp or sctp")
	}
	from, err := names.Dialer(s.Lab, o.from)
	if err != nil {
		return f, command.Misnamed(err, "usage: netlab explain -f "+path+" FROM TO")
	}
	to, protocol, err := names.Listener(s.Lab, o.to, protocol)
	if err != nil {
		return f, command.Misnamed(err, "usage: netlab explain -f "+path+" FROM TO")
	}
	f = flow.Flow{From: from.Netns, To: to.Addr, Protocol: flow.Protocol(protocol), Within: time.Second, Upload: o.upload, Lookup: names.Asks(s.Lab, o.from, o.to, to.Addr.Addr())}
	if o.upload < 0 || o.upload > 0 && f.Protocol != flow.TCP {
		return f, command.Usage(fmt.Errorf("--upload %d over %s", o.upload, protocol), "an upload is over TCP, and has at least one byte")
	}
	return f, o.request(&f)
}

// request makes the flow an HTTP request, if that is what is to be followed.
func (o *explainOptions) request(f *flow.Flow) error {
	if o.http == "" {
		return nil
	}
	u, err := url.Parse(o.http)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "" && !strings.HasPrefix(o.http, "/") || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https":
		return command.Usage(fmt.Errorf("--http %q is neither a path nor a URL", o.http), "write --http /cart or --http https://shop.example/cart")
	case f.Protocol != flow.TCP || f.Upload > 0:
		return command.Usage(errors.New("HTTP is spoken over TCP"), "leave out --protocol and --upload")
	}
	f.Path, f.Host, f.TLS = cmp.Or(u.EscapedPath(), "/"), u.Host, u.Scheme == "https"
	if host, _, ok := names.CutPort(o.to); f.Host == "" && ok {
		if _, err := netip.ParseAddr(host); err != nil {
			f.Host = host
		}
	}
	return nil
}

// blame says which fault is in the plan, and what would happen without it.
func (u ui) blame(s *language.Scenario, flags command.ScenarioFlags, p trace.Prediction) error {
	fault, err := flags.FaultOf(s)
	if err != nil || fault == nil {
		return err
	}
	sound, err := datapath.Compile(s.Lab.WithoutAgents())
	if err != nil {
		return err
	}
	o := fault.Origin
	u.Print("\nfault %q is in this plan (%s:%d): %s.\n", fault.Name, s.Path(o.File), o.Line, fault.Kind.About)
	without := trial.ByName(walk.New(sound), p.Flow).Results()
	if now := p.Results(); !slices.Equal(now, without) {
		u.Print("Without it: %s.\n", without[0].Value)
	} else {
		u.Print("It changes nothing for this packet.\n")
	}
	return nil
}

// explainable finds the scenario: the one named, else that of the running lab, else the one
// in this folder.
func (u ui) explainable(ctx context.Context, o *explainOptions) (path string, lab runningLab, err error) {
	if o.file != "" {
		path, err = command.TheScenario([]string{o.file})
		return path, nil, err
	}
	if o.lab == "" {
		return u.reachable(ctx, nil, &o.flags)
	}
	path, lab, err = u.reachable(ctx, []string{o.lab}, &o.flags)
	if err == nil && lab == nil {
		err = command.Usage(fmt.Errorf("no lab named %s is running", o.lab), "see: netlab ps; or name a file: -f FILE")
	}
	return path, lab, err
}

func (u ui) printPrediction(p trace.Prediction, o explainOptions) error {
	switch {
	case u.AsJSON:
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
