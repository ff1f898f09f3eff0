package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/suite"
)

func testCommand(u *ui) *cobra.Command {
	var o testOptions
	c := &cobra.Command{
		Use:   "test [FILE…]",
		Short: "Build labs, prove every expectation with real packets, remove them",
		Long: `Build each scenario, check all its expectations, and remove it again. Takes files,
folders and globs. Exits 1 when an expectation fails.

--matrix proxy=iptables,ipvs runs each scenario once per value, whatever the file says, and
shows the results side by side; several axes (network, proxy, policies, ip_families) make
every combination. A file may have a matrix block of its own; the flag replaces it.`,
		Example: `  netlab test scenarios/
  netlab test --matrix proxy=iptables,ipvs network=vxlan,host-gw scenarios/local-policy.hcl`,
		RunE: func(c *cobra.Command, args []string) error {
			args, err := o.axesOf(args)
			if err != nil {
				return err
			}
			return u.test(c.Context(), orHere(args), o)
		},
	}
	o.register(c)
	return c
}

type testOptions struct {
	flags     scenarioFlags
	keep      bool
	pause     bool
	focus     []string
	junit     string
	html      string
	json      bool
	matrix    []string
	axes      []scenarios.Axis
	parallel  int
	partition string
}

func (o *testOptions) register(c *cobra.Command) {
	o.flags.register(c)
	f := c.Flags()
	f.BoolVar(&o.keep, "keep", false, "leave the labs running")
	f.StringArrayVar(&o.focus, "focus", nil, "only expectations that match the `REGEXP` (repeatable)")
	f.StringVar(&o.junit, "junit", "", "write a JUnit report to `FILE`")
	f.StringVar(&o.html, "html", "", "write an HTML report to `FILE`")
	f.BoolVar(&o.json, "json", false, "print the results as JSON")
	f.StringArrayVar(&o.matrix, "matrix", nil, "run every combination of `AXIS=VALUE,…` (network, proxy, policies, ip_families; repeatable)")
	f.IntVar(&o.parallel, "parallel", 0, "labs at once (0: four per core)")
	f.StringVar(&o.partition, "partition", "", "only part `i/N` of the scenarios, for CI jobs side by side")
	f.BoolVar(&o.pause, "pause-on-fail", false, "keep a lab whose expectation failed until you press Enter")
}

func (u *ui) test(ctx context.Context, args []string, o testOptions) error {
	labs, err := u.testLabs(args, o)
	if err != nil {
		return err
	}
	options := suite.Options{Parallel: o.parallel}
	if o.keep || o.pause {
		if err := namesAreFree(labs); err != nil {
			return err
		}
		options.Name = func(lab *suite.Lab) string { return lab.Scenario.Name }
		options.Finish = u.finisher(o)
	}
	runner := suite.New(labs, options)
	done := u.working(fmt.Sprintf("testing %s", plural(len(labs), "scenario")))
	passed := runner.Run(ctx)
	done()
	report := runner.Report()
	warnAboutSilence(labs, &report)
	if err := u.printReport(report, o); err != nil {
		return err
	}
	switch {
	case interrupted(ctx):
		return errInterrupted
	case didNotRun(report):
		u.say("netlab: a lab could not be built, or broke\n  see what this machine can do: netlab doctor")
		return told(exitBroken)
	case report.Count(reports.Failed)+report.Count(reports.Disagreed) > 0 || !passed:
		return told(exitFailed)
	case report.Count(reports.Passed) == 0 && report.Count(reports.Skipped) > 0:
		u.say("netlab: nothing could be tested on this machine; its kernel lacks what the labs need\n  in a virtual machine: netlab vm test %s", skippedFiles(report))
		return told(exitUnsupported)
	case report.Count(reports.Skipped) > 0:
		u.say("\nwhat was skipped runs in a virtual machine: netlab vm test %s", skippedFiles(report))
	}
	return nil
}

// skippedFiles are the scenarios that this kernel could not run, as arguments.
func skippedFiles(report reports.Report) string {
	var files []string
	for _, r := range report.Results {
		if r.Status == reports.Skipped && !slices.Contains(files, r.File) {
			files = append(files, r.File)
		}
	}
	return strings.Join(files, " ")
}

// namesAreFree refuses to keep labs under names that are taken.
func namesAreFree(labs []*suite.Lab) error {
	running, err := engine.List()
	if err != nil {
		return broken(err, "make sure that you may read "+engine.StateDir())
	}
	for _, lab := range labs {
		name := lab.Scenario.Name
		if slices.Contains(running, name) {
			return usage(fmt.Errorf("a lab named %s runs already", name), "remove it first: netlab down "+name)
		}
		running = append(running, name)
	}
	return nil
}

// didNotRun reports a lab that failed as such, beside its expectations.
func didNotRun(report reports.Report) bool {
	return slices.ContainsFunc(report.Results, func(r reports.Result) bool { return r.Status == reports.Failed && r.Line == 0 })
}

// testLabs loads all scenarios before anything is built: a mistake in one of them
// is told at once.
func (u *ui) testLabs(args []string, o testOptions) ([]*suite.Lab, error) {
	paths, err := scenarios.Find(args)
	if err != nil {
		return nil, usage(err, "name a scenario file")
	}
	if paths, err = part(paths, o.partition); err != nil {
		return nil, err
	}
	focus, err := patterns(o.focus)
	if err != nil {
		return nil, err
	}
	var labs []*suite.Lab
	invalid := false
	for _, path := range paths {
		varied, err := u.variations(path, o)
		if isTold(err) {
			invalid = true
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, lab := range varied {
			if len(focus) > 0 {
				if lab.Scenario.Expects = focused(lab.Scenario, focus); len(lab.Scenario.Expects) == 0 {
					continue
				}
			}
			labs = append(labs, lab)
		}
	}
	switch {
	case invalid:
		return nil, told(exitInvalid)
	case len(labs) == 0 && len(focus) > 0:
		return nil, usage(fmt.Errorf("no expectation matches %s", strings.Join(o.focus, " or ")), "see what there is: netlab validate")
	}
	return labs, nil
}

func patterns(texts []string) ([]*regexp.Regexp, error) {
	var list []*regexp.Regexp
	for _, text := range texts {
		p, err := regexp.Compile(text)
		if err != nil {
			return nil, usage(fmt.Errorf("--focus: %w", err), "write a regular expression as in Go")
		}
		list = append(list, p)
	}
	return list, nil
}

// focused are the expectations one of whose names "scenario expectation" matches.
func focused(s *scenarios.Scenario, focus []*regexp.Regexp) []*expect.Reach {
	var kept []*expect.Reach
	for _, e := range s.Expects {
		for _, p := range focus {
			if p.MatchString(s.Title() + " " + e.Name) {
				kept = append(kept, e)
				break
			}
		}
	}
	return kept
}

// part is every N-th scenario, from the i-th on, counted from 1.
func part(paths []string, partition string) ([]string, error) {
	if partition == "" {
		return paths, nil
	}
	var i, n int
	if _, err := fmt.Sscanf(partition, "%d/%d", &i, &n); err != nil || i < 1 || i > n {
		return nil, usage(fmt.Errorf("--partition %s is not i/N with 1 ≤ i ≤ N", partition), "write for example --partition 1/4")
	}
	var mine []string
	for k := i - 1; k < len(paths); k += n {
		mine = append(mine, paths[k])
	}
	return mine, nil
}

// finisher keeps labs as the user asked.
func (u *ui) finisher(o testOptions) func(context.Context, *suite.Lab, *engine.Client, bool) error {
	in := bufio.NewReader(u.in)
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, lab *suite.Lab, running *engine.Client, failed bool) error {
		if o.pause && failed {
			turn <- struct{}{}
			defer func() { <-turn }()
			u.say("\n%s failed and is kept: netlab shell --lab %s %s\npress Enter to go on", lab.Scenario.Name, lab.Scenario.Name,
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
		if o.keep {
			return running.Detach()
		}
		return running.Down(ctx)
	}
}

// warnAboutSilence adds the warnings about silence that nothing proves to the
// results that they are about.
func warnAboutSilence(labs []*suite.Lab, report *reports.Report) {
	for _, lab := range labs {
		for _, w := range suite.Controls(lab.Scenario) {
			file := lab.Scenario.Path(w.Origin.File)
			for i := range report.Results {
				if r := &report.Results[i]; r.File == file && r.Line == w.Origin.Line {
					r.Warnings = append(r.Warnings, w.Summary+": "+w.Detail)
				}
			}
		}
	}
}

func (u *ui) printReport(report reports.Report, o testOptions) error {
	if o.junit != "" {
		if err := writeReport(o.junit, "JUnit", report, reports.JUnit); err != nil {
			return err
		}
	}
	if o.html != "" {
		if err := writeReport(o.html, "HTML", report, reports.HTML); err != nil {
			return err
		}
	}
	if o.json {
		data, err := reports.JSON(report)
		if err == nil {
			_, err = u.out.Write(data)
		}
		return err
	}
	render := reports.Matrix
	if slices.ContainsFunc(report.Results, func(r reports.Result) bool { return r.Variation != "" }) {
		render = reports.SideBySide
	}
	u.print("%s", render(report, colour(u.out)))
	return nil
}

// writeReport renders a report of some kind into a file.
func writeReport(path, kind string, report reports.Report, render func(reports.Report) ([]byte, error)) error {
	data, err := render(report)
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		return broken(fmt.Errorf("%s report: %w", kind, err), "name a file that can be written: --"+strings.ToLower(kind)+" FILE")
	}
	return nil
}
