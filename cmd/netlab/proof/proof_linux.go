package proof

import (
	"bufio"
	"context"
	"fmt"
	"slices"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/cmd/netlab/labs"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/suite"
)

// testForReal builds labs and proves expectations with packets.
func (u ui) testForReal(ctx context.Context, args []string, o Options) error {
	list, invalid, err := Labs(u.UI, args, o)
	if err != nil {
		return err
	}
	var unfit []reports.Result
	if o.real != "" {
		list, unfit = unreal(list)
	}
	options := suite.Options{Parallel: o.parallel, Strict: o.strict, Meta: func(lab *suite.Lab) engine.Meta {
		meta := labs.MetaOf(lab.Scenario, lab.Plan, lab.Scenario.Name, lab.Path)
		meta.Vars, meta.VarFiles, meta.AllowPaths = o.Flags.Given(lab.Scenario)
		meta.HostPrograms = o.Flags.HostPrograms
		if o.Keep || o.Pause || lab.Scenario.Lab.HasAgents() {
			labs.Serve(&meta, lab.Scenario)
		}
		return meta
	}}
	if o.Keep || o.Pause {
		if err := namesAreFree(list); err != nil {
			return err
		}
		options.Name = func(lab *suite.Lab) string { return lab.Scenario.Name }
		options.Finish = u.finisher(o)
	}
	runner := suite.New(list, options)
	testing := fmt.Sprintf("testing %s", command.Plural(len(list), "scenario"))
	done := u.WorkingOn(func() string { return labs.Waiting(ctx, testing, runner.Building()...) })
	passed := runner.Run(ctx)
	done()
	report := runner.Report()
	report.Results = append(append(report.Results, invalid...), unfit...)
	warnAboutSilence(list, &report)
	if err := u.printReport(report, o); err != nil {
		return err
	}
	switch {
	case command.Interrupted(ctx):
		return command.ErrInterrupted
	case didNotRun(report):
		u.Say("netlab: a lab could not be built, or broke\n  see above; what this machine can do: netlab doctor")
		return command.Told(command.ExitBroken)
	case len(invalid) > 0:
		return command.Told(command.ExitInvalid)
	case report.Count(reports.Failed)+report.Count(reports.Disagreed) > 0 || !passed:
		return command.Told(command.ExitFailed)
	case o.noSkip && report.Count(reports.Skipped) > 0:
		return u.skipped(report)
	case report.Count(reports.Passed) == 0 && report.Count(reports.Skipped) > 0:
		u.Say("netlab: nothing could be tested on this machine, which lacks what the labs need\n  use a virtual machine: netlab vm test %s", skippedFiles(report))
		return command.Told(command.ExitUnsupported)
	case len(unfit) < report.Count(reports.Skipped):
		u.Say("\nrun what was skipped in a virtual machine: netlab vm test %s", skippedFiles(report))
	}
	return nil
}

// namesAreFree refuses to keep labs under names that are taken.
func namesAreFree(list []*suite.Lab) error {
	running, err := labs.Running()
	if err != nil {
		return err
	}
	for _, lab := range list {
		name := lab.Scenario.Name
		if slices.Contains(running, name) {
			return command.Usage(fmt.Errorf("a lab named %s is already running", name), "remove it first: netlab down "+name)
		}
		running = append(running, name)
	}
	return nil
}

// didNotRun reports a lab that failed itself, apart from its expectations.
func didNotRun(report reports.Report) bool {
	return slices.ContainsFunc(report.Results, func(r reports.Result) bool { return r.Status == reports.Failed && r.Line == 0 })
}

// finisher keeps labs as the user asked.
func (u ui) finisher(o Options) func(context.Context, *suite.Lab, *engine.Client, bool) error {
	in := bufio.NewReader(u.In)
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, lab *suite.Lab, running *engine.Client, failed bool) error {
		if o.Pause && failed {
			turn <- struct{}{}
			defer func() { <-turn }()
			u.Say("\n%s failed and is kept: netlab shell --lab %s %s\npress Enter to continue", lab.Scenario.Name, lab.Scenario.Name,
				lab.Scenario.Lab.Nodes[0].Name)
			answered := make(chan struct{})
			go func() {
				_, _ = in.ReadString('\n')
				close(answered)
			}()
			select {
			case <-answered:
			case <-ctx.Done():
			}
		}
		if o.Keep {
			return running.Detach()
		}
		return running.Down(ctx)
	}
}
