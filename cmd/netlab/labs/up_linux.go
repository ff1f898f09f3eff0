package labs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/scenarios/language/source"
)

func upCommand(u ui) *cobra.Command {
	var flags command.ScenarioFlags
	var name string
	var dry bool
	c := &cobra.Command{
		Use: "up [FILE…]",
		Long: `Build the lab that a scenario describes. If it is already running, apply the difference:
what the difference does not touch is not disturbed. Each of several files is a lab of its
own; nothing is built before all of them are checked.

What has drifted from the plan is repaired, too. In a large lab, namespaces that the change
does not touch are repaired after up returns; other commands wait for it, and status reports
it.

` + command.Folders,
		RunE: func(c *cobra.Command, args []string) error {
			paths, err := command.TheScenarios(args)
			if err != nil {
				return err
			}
			if len(paths) > 1 && name != "" {
				return command.Usage(errors.New("--name is for one lab, but there are several files"), "leave it out")
			}
			list, err := u.prepare(paths, flags, name)
			if err != nil {
				return err
			}
			if dry {
				return u.dryRun(list)
			}
			return u.upAll(c.Context(), list)
		},
	}
	flags.Register(c)
	flags.RegisterFault(c)
	flags.RegisterPrograms(c)
	c.Flags().StringVar(&name, "name", "", "name of the lab, if not the scenario's: to run two copies of one")
	u.JSONFlag(c, "what was done")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be done: netlab plan")
	return c
}

// wantedLab is a lab that up is asked for.
type wantedLab struct {
	scenario *language.Scenario
	plan     *plan.Plan
	meta     engine.Meta
}

// prepare reads all scenarios, so that mistakes in any of them are reported first.
func (u ui) prepare(paths []string, flags command.ScenarioFlags, name string) ([]wantedLab, error) {
	flags = flags.ForMany(paths)
	var list []wantedLab
	var invalid []string
	for _, path := range paths {
		s, p, err := u.Compile(path, flags)
		if command.IsTold(err) {
			invalid = append(invalid, path)
			continue
		}
		if err != nil {
			return nil, err
		}
		p.Lab = cmp.Or(name, s.Name)
		if err := checkLabName(p.Lab); err != nil {
			return nil, err
		}
		w := wantedLab{s, p, MetaOf(s, p, p.Lab, path)}
		w.meta.Vars, w.meta.VarFiles, w.meta.AllowPaths = flags.Given(s)
		w.meta.Fault, w.meta.HostPrograms = flags.Fault, flags.HostPrograms
		Serve(&w.meta, s)
		list = append(list, w)
	}
	if len(invalid) > 0 {
		u.PartsOf(invalid, flags)
		return nil, command.Told(command.ExitInvalid)
	}
	return list, flags.Undeclared()
}

// dryRun prints plans.
func (u ui) dryRun(list []wantedLab) error {
	for _, w := range list {
		var err error
		if u.AsJSON {
			err = u.JSON(w.plan)
		} else {
			_, err = u.Text().Write(w.plan.Text())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// broughtUp is what up did with a lab.
type broughtUp struct {
	Lab     string          `json:"lab"`
	Created bool            `json:"created"`
	Changes string          `json:"changes"` // in one line; empty: none
	Seconds reports.Seconds `json:"seconds"`
}

func (u ui) upAll(ctx context.Context, list []wantedLab) error {
	done := []broughtUp{}
	for _, w := range list {
		b, err := u.up(ctx, w)
		if err != nil {
			return err
		}
		done = append(done, b)
		if !u.AsJSON {
			u.reportUp(w, b)
		}
	}
	if u.AsJSON {
		return u.JSON(done)
	}
	return nil
}

func (u ui) up(ctx context.Context, w wantedLab) (broughtUp, error) {
	started := time.Now()
	var applied engine.Applied
	var isNew bool
	var err error
	for try := 0; ; try++ {
		applied, isNew, err = u.bringUp(ctx, w.plan, w.meta)
		// A lab that goes away while it is being changed is made anew.
		gone := errors.Is(err, engine.ErrEnded) || errors.Is(err, engine.ErrNotRunning) || errors.Is(err, engine.ErrUnreachable)
		if !gone || isNew || try == 5 {
			break
		}
	}
	if err != nil {
		return broughtUp{}, u.explainApply(ctx, err, w.scenario, w.meta, w.plan)
	}
	return broughtUp{w.meta.Name, isNew, applied.Summary, reports.Seconds(time.Since(started))}, nil
}

// bringUp makes the lab, or changes the one that runs.
func (u ui) bringUp(ctx context.Context, p *plan.Plan, meta engine.Meta) (a engine.Applied, isNew bool, err error) {
	lab, isNew, err := startOrConnect(ctx, meta.Name)
	if err != nil {
		return a, isNew, err
	}
	a, err = u.apply(ctx, lab, p, meta)
	if isNew && err == nil {
		err = lab.Detach()
	}
	if !isNew && err == nil {
		var again bool
		if again, err = lab.Guard(); again {
			u.Say("%s: started the janitor again, which was gone", meta.Name)
		}
	}
	if isNew && err != nil {
		lab.Abandon()
	}
	return a, isNew, err
}

// apply applies a plan and shows the progress if it takes long.
func (u ui) apply(ctx context.Context, lab *engine.Client, p *plan.Plan, meta engine.Meta) (engine.Applied, error) {
	building := fmt.Sprintf("building %s: %s, %s", meta.Name, command.Plural(meta.Nodes, "node"), command.Plural(meta.Pods, "pod"))
	done := u.WorkingOn(func() string { return Waiting(ctx, building, lab) })
	defer done()
	applied, err := lab.Apply(ctx, p, meta, u.Verbose)
	if err == nil {
		for _, line := range applied.Lines {
			u.Say("%s", line)
		}
	}
	return applied, err
}

// Waiting says for which programs labs wait that are being changed; else, what a command does.
func Waiting(ctx context.Context, does string, labs ...*engine.Client) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var list []string
	for _, lab := range labs {
		info, _ := lab.Info(ctx) // one that is going away waits for nothing
		for _, p := range info.Programs {
			if p.Waiting != "" {
				list = append(list, fmt.Sprintf("%s to %s", p.Name, p.Waiting))
			}
		}
	}
	if len(list) == 0 {
		return does
	}
	if more := len(list) - 3; more > 0 {
		list = append(list[:3], fmt.Sprintf("%d more", more))
	}
	return "waiting for " + strings.Join(list, ", ")
}

// connectPatience is how long a lab may lack its control socket while it is made
// or removed.
const connectPatience = 3 * time.Second

// startOrConnect returns an engine for the lab: a new one that ends with this
// process, or the one that runs.
func startOrConnect(ctx context.Context, name string) (lab *engine.Client, isNew bool, err error) {
	for started := time.Now(); ctx.Err() == nil; {
		lab, err = engine.Start(ctx, name)
		if !errors.Is(err, engine.ErrRunning) {
			return lab, true, cannotStart(err)
		}
		lab, err = engine.Connect(name)
		if errors.Is(err, engine.ErrNotRunning) {
			continue // it went away between the two
		}
		if err != nil && time.Since(started) < connectPatience {
			time.Sleep(5 * time.Millisecond) // it is just starting or ending
			continue
		}
		if err != nil {
			return nil, false, command.Broken(err, "remove it: netlab down "+name)
		}
		return lab, false, nil
	}
	return nil, false, ctx.Err()
}

// cannotStart adds to an error of the engine what the user can do.
func cannotStart(err error) error {
	var isolation *engine.IsolationError
	var limit *engine.LimitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limit):
		return command.Broken(err, "raise that limit, and try again")
	case errors.As(err, &isolation):
		return &command.Error{Err: err, Code: command.ExitUnsupported, Hint: "see what this machine lacks, and how to get it: netlab doctor; or use a virtual one: netlab vm up FILE"}
	case errors.Is(err, engine.ErrState):
		return command.Broken(err, "make sure that there is room in "+engine.StateDir()+" and that you can write there")
	default:
		return command.Broken(err, "see what this machine can do: netlab doctor")
	}
}

// explainApply turns the error of an Apply into a message for the user.
func (u ui) explainApply(ctx context.Context, err error, s *language.Scenario, meta engine.Meta, p *plan.Plan) error {
	var lacks *engine.UnsupportedError
	var clash *engine.ClashError
	var program *inside.ProgramError
	var told *command.Error
	var stopped *engine.StoppedError
	switch {
	case command.Interrupted(ctx):
		return command.ErrInterrupted
	case errors.As(err, &told):
		return err
	case errors.As(err, &stopped):
		return command.Broken(err, "or remove it: netlab down "+meta.Name)
	case errors.As(err, &clash):
		return command.Usage(fmt.Errorf("a lab named %s is already running, made from %s", meta.Name, clash.File),
			fmt.Sprintf("give this one another name: netlab up --name %s-2 %s; or remove that one: netlab down %s",
				meta.Name, relative(meta.File), meta.Name))
	case err == engine.ErrEnded: // with a cause, it is another matter
		return command.Broken(fmt.Errorf("%s: %w", meta.Name, err), "another command removed it, or its engine was killed; bring it up again: netlab up "+relative(meta.File))
	case errors.Is(err, engine.ErrBusy):
		return command.Broken(fmt.Errorf("%s: %w", meta.Name, err), "end that command, or choose another name: netlab up --name "+meta.Name+"-2")
	case errors.As(err, &program) && program.Missing != "":
		return &command.Error{Err: err, Code: command.ExitUnsupported, Hint: program.Remedy() + "; nothing was built"}
	case errors.As(err, &program):
		return command.Broken(err, program.Remedy()+"; the lab is as it was before")
	case errors.As(err, &lacks):
		var needs []string
		for _, f := range plan.Requires(p) {
			why, missing := lacks.Missing[f]
			if !missing {
				continue
			}
			needs = append(needs, fmt.Sprintf("%s: this lab needs %s, which this machine lacks: %v", needer(s, f), f, why), "  "+f.About().RemedyWhere(features.Loadable))
		}
		return &command.Error{Err: errors.New("nothing was built"), Code: command.ExitUnsupported, About: needs, Hint: fmt.Sprintf("use a virtual machine: netlab vm up %s; see all that is missing: netlab doctor", relative(meta.File))}
	default:
		return cannotStart(err)
	}
}

// needer is the place in the scenario that needs a feature: the network mode
// for tunnels, the proxy for rules.
func needer(s *language.Scenario, f feature.Feature) string {
	o := s.Lab.Proxy.Origin
	if slices.Contains([]feature.Feature{feature.VXLAN, feature.IPIP, feature.Tun, feature.WireGuardOrTun, feature.ESP}, f) {
		o = s.Lab.Network.Origin
	}
	if o.File == "" {
		return s.Name + " (by default)"
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

func (u ui) reportUp(w wantedLab, b broughtUp) {
	u.sayAgents(w.plan)
	if !b.Created {
		u.Print("%s: %s\n", b.Lab, cmp.Or(b.Changes, "no change"))
		return
	}
	u.Print("%s is up: %s, in %v\n", b.Lab, command.Counts(w.scenario.Lab), time.Duration(b.Seconds).Round(time.Millisecond))
	u.Print("\n  next:\n")
	for _, line := range nextSteps(b.Lab, w.scenario) {
		u.Print("    %s\n", line)
	}
}

// nextSteps are commands worth trying on a lab that has just come up.
func nextSteps(name string, s *language.Scenario) []string {
	var list []string
	called := func(display, netns string) string { return names.Unique(display, netns, names.All(s.Lab)) }
	if len(s.Lab.Pods) > 0 {
		p := s.Lab.Pods[0]
		list = append(list, "netlab exec "+called(p.AgentName(), p.Netns())+" -- ip addr")
	}
	if len(s.Lab.Clients) > 0 && len(s.Expects) > 0 {
		e := s.Expects[0]
		if len(e.From) > 0 && len(e.To) > 0 && e.Protocol == "tcp" && e.To[0].Addr.IsValid() {
			list = append(list, fmt.Sprintf("netlab exec %s -- curl -sm1 http://%s", called(e.From[0].Name, e.From[0].Netns), e.To[0].Addr))
		}
	}
	if len(s.Lab.Nodes) > 0 {
		n := s.Lab.Nodes[0]
		list = append(list, "netlab shell "+called(n.Name, n.Netns()))
	}
	return append(list, "netlab inspect "+name, "netlab down "+name)
}

// checkLabName rejects names that cannot name a folder, or would be hidden.
func checkLabName(name string) error {
	if name == "" || len(name) > 200 || name[0] == '.' || strings.ContainsAny(name, "/\x00\n") {
		return command.Usage(fmt.Errorf("%q cannot be the name of a lab", name), "give it one: --name NAME")
	}
	return nil
}

func absolute(path string) string {
	if path == "-" {
		return "(standard input)"
	}
	return source.Absolute(path)
}

func relative(path string) string {
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}
