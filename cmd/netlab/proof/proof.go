package proof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/scenarios/suite"
)

func TestCommand(shared *command.UI) *cobra.Command {
	u := ui{shared}
	var o Options
	c := &cobra.Command{
		Use:   "test [FILE…]",
		Short: "Build labs, prove every expectation with real packets, remove them",
		Long: `Build each scenario, check all its expectations, and remove it again. Takes files,
folders and globs. Exits 1 when an expectation fails.

--paper builds nothing: it follows packets through the rules on paper, on any operating
system and without privileges. Claims that only packets can prove, such as a latency, are
reported as skipped.

--matrix proxy=iptables,ipvs runs each scenario once per value, whatever the file says, and
shows the results side by side; several axes (network, proxy, policies, ip_families) make
every combination. A file may have a matrix block of its own; the flag replaces it.`,
		Example: `  netlab test scenarios/
  netlab test --matrix proxy=iptables,ipvs network=vxlan,host-gw scenarios/local-policy.hcl
  netlab test --paper scenarios/`,
		RunE: func(c *cobra.Command, args []string) error {
			args, err := o.AxesOf(args)
			if err != nil {
				return err
			}
			if o.paper {
				return u.testOnPaper(c.Context(), command.OrHere(args), o)
			}
			return u.testForReal(c.Context(), command.OrHere(args), o)
		},
	}
	o.Register(c)
	c.Flags().BoolVar(&o.paper, "paper", false, "build nothing, and judge what the rules do on paper")
	return c
}

type Options struct {
	Flags     command.ScenarioFlags
	paper     bool
	Keep      bool
	Pause     bool
	focus     []string
	JUnit     string
	HTML      string
	json      bool
	matrix    []string
	axes      []language.Axis
	parallel  int
	partition string
}

func (o *Options) Register(c *cobra.Command) {
	o.Flags.Register(c)
	f := c.Flags()
	f.BoolVar(&o.Keep, "keep", false, "leave the labs running")
	f.StringArrayVar(&o.focus, "focus", nil, "only expectations that match the `REGEXP` (repeatable)")
	f.StringVar(&o.JUnit, "junit", "", "write a JUnit report to `FILE`")
	f.StringVar(&o.HTML, "html", "", "write an HTML report to `FILE`")
	f.BoolVar(&o.json, "json", false, "print the results as JSON")
	f.StringArrayVar(&o.matrix, "matrix", nil, "run every combination of `AXIS=VALUE,…` (network, proxy, policies, ip_families; repeatable)")
	f.IntVar(&o.parallel, "parallel", 0, "how many labs run at once (0: four per core)")
	f.StringVar(&o.partition, "partition", "", "only part `i/N` of the scenarios, for parallel CI jobs")
	f.BoolVar(&o.Pause, "pause-on-fail", false, "keep a lab whose expectation failed until you press Enter")
}

// testOnPaper judges expectations on the plans of their labs.
func (u ui) testOnPaper(ctx context.Context, args []string, o Options) error {
	if o.Keep || o.Pause {
		return command.Usage(errors.New("on paper there is no lab to keep"), "leave out --paper, or --keep and --pause-on-fail")
	}
	labs, err := Labs(u.UI, args, o)
	if err != nil {
		return err
	}
	report := suite.Paper(ctx, labs)
	warnAboutSilence(labs, &report)
	if err := u.printReport(report, o); err != nil {
		return err
	}
	switch {
	case command.Interrupted(ctx):
		return command.ErrInterrupted
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case report.Count(reports.Failed) > 0:
		return command.Told(command.ExitFailed)
	case report.Count(reports.Skipped) > 0:
		u.Say("\nthe skipped claims need packets: netlab test %s", skippedFiles(report))
	}
	if report.Count(reports.Passed) == 0 && report.Count(reports.Skipped) > 0 {
		return command.Told(command.ExitUnsupported)
	}
	return nil
}

// skippedFiles are the scenarios with skipped expectations, as arguments.
func skippedFiles(report reports.Report) string {
	var files []string
	for _, r := range report.Results {
		if r.Status == reports.Skipped && !slices.Contains(files, r.File) {
			files = append(files, r.File)
		}
	}
	return strings.Join(files, " ")
}

// Labs loads all scenarios before anything is built, so that a mistake in one of
// them is reported first.
func Labs(u *command.UI, args []string, o Options) ([]*suite.Lab, error) {
	paths, err := source.Find(args)
	if err != nil {
		return nil, command.Usage(err, "name a scenario file")
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
		varied, err := ui{u}.variations(path, o)
		if command.IsTold(err) {
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
		return nil, command.Told(command.ExitInvalid)
	case len(labs) == 0 && len(focus) > 0:
		return nil, command.Usage(fmt.Errorf("no expectation matches %s", strings.Join(o.focus, " or ")), "check the names in the scenario")
	}
	return labs, nil
}

func patterns(texts []string) ([]*regexp.Regexp, error) {
	var list []*regexp.Regexp
	for _, text := range texts {
		p, err := regexp.Compile(text)
		if err != nil {
			return nil, command.Usage(fmt.Errorf("--focus: %w", err), "write a regular expression as in Go")
		}
		list = append(list, p)
	}
	return list, nil
}

// focused are the expectations one of whose names "scenario expectation" matches.
func focused(s *language.Scenario, focus []*regexp.Regexp) []*expect.Reach {
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
		return nil, command.Usage(fmt.Errorf("--partition %s is not i/N with 1 ≤ i ≤ N", partition), "write, for example, --partition 1/4")
	}
	var mine []string
	for k := i - 1; k < len(paths); k += n {
		mine = append(mine, paths[k])
	}
	return mine, nil
}

// warnAboutSilence adds the warnings about silence without a positive control to the
// results that they concern.
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

func (u ui) printReport(report reports.Report, o Options) error {
	if o.JUnit != "" {
		if err := writeReport(o.JUnit, "JUnit", report, reports.JUnit); err != nil {
			return err
		}
	}
	if o.HTML != "" {
		if err := writeReport(o.HTML, "HTML", report, reports.HTML); err != nil {
			return err
		}
	}
	if o.json {
		data, err := reports.JSON(report)
		if err == nil {
			_, err = u.Out.Write(data)
		}
		return err
	}
	render := reports.Matrix
	if slices.ContainsFunc(report.Results, func(r reports.Result) bool { return r.Variation != "" }) {
		render = reports.SideBySide
	}
	u.Print("%s", render(report, command.Colour(u.Out)))
	return nil
}

// writeReport renders a report of some kind into a file.
func writeReport(path, kind string, report reports.Report, render func(reports.Report) ([]byte, error)) error {
	data, err := render(report)
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		return command.Broken(fmt.Errorf("%s report: %w", kind, err), "name a file that can be written: --"+strings.ToLower(kind)+" FILE")
	}
	return nil
}

// ui is what the commands of this package print to.
type ui struct{ *command.UI }
