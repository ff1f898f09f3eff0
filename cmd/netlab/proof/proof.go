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
every combination. A file may have a matrix block of its own; the flag replaces it.

--real kube-proxy=PATH runs the real kube-proxy in every node, instead of rules that netlab
makes, in the proxy modes that it has. Expectations are predicted from netlab's own rules, and
packets go through the real ones: one table shows where they differ, and the exit status is then
1. Other agents, and agents in labs of your own: netlab help language proxy.

An invalid scenario fails alone: the others are tested, and the exit status is 2.

` + command.Folders,
		Example: `  netlab test scenarios/
  netlab test --matrix proxy=iptables,ipvs network=vxlan,host-gw scenarios/local-policy.hcl
  netlab test --paper scenarios/
  netlab test --real kube-proxy=./kube-proxy --matrix proxy=iptables,nftables scenarios/services`,
		RunE: func(c *cobra.Command, args []string) error {
			args, err := o.AxesOf(args)
			if err != nil {
				return err
			}
			if err := o.useReal(); err != nil {
				return err
			}
			if o.list {
				return u.list(command.OrHere(args), o)
			}
			if o.paper {
				return u.testOnPaper(c.Context(), command.OrHere(args), o)
			}
			return u.testForReal(c.Context(), command.OrHere(args), o)
		},
	}
	o.Register(shared, c)
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
	matrix    []string
	axes      []language.Axis
	parallel  int
	partition string
	list      bool
	strict    bool
	noSkip    bool
	real      string
}

func (o *Options) Register(u *command.UI, c *cobra.Command) {
	o.Flags.Register(c)
	o.Flags.RegisterPrograms(c)
	f := c.Flags()
	f.BoolVar(&o.Keep, "keep", false, "leave the labs running")
	f.StringArrayVar(&o.focus, "focus", nil, "only expectations that match the `REGEXP` (repeatable)")
	f.StringVar(&o.JUnit, "junit", "", "write a JUnit report to `FILE`; -: print it instead of the table")
	f.StringVar(&o.HTML, "html", "", "write an HTML report to `FILE`; -: print it instead of the table")
	u.JSONFlag(c, "the results")
	f.StringArrayVar(&o.matrix, "matrix", nil, "run every combination of `AXIS=VALUE,…` (network, proxy, policies, ip_families; repeatable)")
	f.IntVar(&o.parallel, "parallel", 0, "how many labs run at once (0: four per core)")
	f.StringVar(&o.partition, "partition", "", "only part `i/N` of the scenarios, for parallel CI jobs")
	f.BoolVar(&o.list, "list", false, "list the expectations, with what they claim, and test nothing")
	f.BoolVar(&o.strict, "strict", false, "fail an expectation if a connection had to be dialed again, as after a lost packet")
	f.BoolVar(&o.noSkip, "no-skip", false, "fail if an expectation is skipped")
	f.StringVar(&o.real, "real", "", "predict by netlab's own rules, send packets through those of an agent, and show where they differ: `kube-proxy=PATH`")
	f.BoolVar(&o.Pause, "pause-on-fail", false, "keep a lab whose expectation failed until you press Enter")
}

// testOnPaper judges expectations on the plans of their labs.
func (u ui) testOnPaper(ctx context.Context, args []string, o Options) error {
	if o.Keep || o.Pause {
		return command.Usage(errors.New("on paper there is no lab to keep"), "leave out --paper, or --keep and --pause-on-fail")
	}
	if o.real != "" {
		return command.Usage(errors.New("on paper no agent runs"), "leave out --paper or --real")
	}
	labs, invalid, err := Labs(u.UI, args, o)
	if err != nil {
		return err
	}
	report := suite.Paper(ctx, labs)
	report.Results = append(report.Results, invalid...)
	warnAboutSilence(labs, &report)
	if err := u.printReport(report, o); err != nil {
		return err
	}
	switch {
	case command.Interrupted(ctx):
		return command.ErrInterrupted
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(invalid) > 0:
		return command.Told(command.ExitInvalid)
	case report.Count(reports.Failed) > 0:
		return command.Told(command.ExitFailed)
	case o.noSkip && report.Count(reports.Skipped) > 0:
		return u.skipped(report)
	case report.Count(reports.Skipped) > 0:
		u.Say("\nthe skipped claims need packets: netlab test %s", skippedFiles(report))
	}
	if report.Count(reports.Passed) == 0 && report.Count(reports.Skipped) > 0 {
		return command.Told(command.ExitUnsupported)
	}
	return nil
}

// list prints the expectations, a line each.
func (u ui) list(args []string, o Options) error {
	labs, invalid, err := Labs(u.UI, args, o)
	if err != nil {
		return err
	}
	for _, lab := range labs {
		for _, e := range lab.Scenario.Expects {
			u.Print("%s:%d: %s %s: %s\n", lab.Scenario.Path(e.Origin.File), e.Origin.Line, lab.Scenario.Title(), e.Name, e.Describe())
		}
	}
	if len(invalid) > 0 {
		return command.Told(command.ExitInvalid)
	}
	return nil
}

// skipped fails a run for what was skipped.
func (u ui) skipped(report reports.Report) error {
	u.Say("netlab: %s skipped, which --no-skip does not allow", command.Plural(report.Count(reports.Skipped), "expectation"))
	return command.Told(command.ExitFailed)
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

// Labs loads all scenarios before anything is built, so that mistakes in some of them are
// reported first. Each invalid one is a result; where all are, there is an error.
func Labs(u *command.UI, args []string, o Options) (labs []*suite.Lab, invalid []reports.Result, err error) {
	paths, err := u.Find(args)
	if err != nil {
		return nil, nil, err
	}
	if paths, err = part(paths, o.partition); err != nil {
		return nil, nil, err
	}
	focus, err := patterns(o.focus)
	if err != nil {
		return nil, nil, err
	}
	if err := o.check(u.AsJSON); err != nil {
		return nil, nil, err
	}
	o.Flags = o.Flags.ForMany(paths)
	var wrong []string
	for _, path := range paths {
		varied, err := ui{u}.variations(path, o)
		if command.IsTold(err) {
			wrong = append(wrong, path)
			invalid = append(invalid, notValid(path, err))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if len(varied) > 0 && len(varied[0].Scenario.Expects) == 0 {
			u.Say("netlab: %s has no expectations, so nothing is proved\n  see: netlab help language expect, and for manifests: netlab init shop-manifests", path)
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
	u.PartsOf(wrong, o.Flags)
	if len(wrong) == 0 {
		err = o.Flags.Undeclared()
	}
	switch {
	case len(wrong) > 0 && len(labs) == 0:
		err = command.Told(command.ExitInvalid)
	case err == nil && len(labs) == 0 && len(focus) > 0:
		err = command.Usage(fmt.Errorf("no expectation matches %s", strings.Join(o.focus, " or ")), "list what there is: netlab test --list "+strings.Join(args, " "))
	}
	if err != nil {
		return nil, nil, err
	}
	return labs, invalid, nil
}

// notValid is the result of a scenario that cannot be loaded.
func notValid(path string, err error) reports.Result {
	result := reports.Result{Scenario: source.ScenarioName(path), File: path, Line: 1, Name: "the scenario is valid", Status: reports.Failed, Failure: "invalid; see: netlab validate " + path}
	if e := new(command.Invalid); errors.As(err, &e) {
		for _, d := range e.Diagnostics {
			if d.Severity == source.Error && d.Range != nil {
				result.File, result.Line = d.Range.File, d.Range.Line
				result.Failure = d.Summary + ": " + d.Detail
				break
			}
		}
	}
	return result
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
	printed := ""
	for _, form := range []struct {
		flag, path string
		render     func(reports.Report) ([]byte, error)
	}{{"--junit", o.JUnit, reports.JUnit}, {"--html", o.HTML, reports.HTML}, {"--json", stdoutIf(u.AsJSON), reports.JSON}} {
		if form.path == "" {
			continue
		}
		data, err := form.render(report)
		if err == nil && form.path == Stdout {
			printed = form.flag
			_, err = u.Text().Write(data)
		} else if err == nil {
			err = os.WriteFile(form.path, data, 0o666)
		}
		if err != nil {
			return command.Broken(fmt.Errorf("%s: %w", form.flag, err), "name a file that can be written: "+form.flag+" FILE")
		}
	}
	u.Answered()
	if printed != "" {
		return nil
	}
	if o.real != "" {
		fmt.Fprint(u.Out, reports.Differences(report, kubeProxy, command.Colour(u.Out)))
		return nil
	}
	fmt.Fprint(u.Out, reports.Matrix(report, command.Colour(u.Out))) // its own colours are meant
	return nil
}

// Stdout is the name of standard output as a file.
const Stdout = "-"

func stdoutIf(yes bool) string {
	if yes {
		return Stdout
	}
	return ""
}

// check finds flags that contradict each other.
func (o Options) check(asJSON bool) error {
	var printed []string
	for flag, yes := range map[string]bool{"--junit -": o.JUnit == Stdout, "--html -": o.HTML == Stdout, "--json": asJSON} {
		if yes {
			printed = append(printed, flag)
		}
	}
	if slices.Sort(printed); len(printed) > 1 {
		return command.Usage(fmt.Errorf("%s cannot both be printed", strings.Join(printed, " and ")), "write one of them to a file")
	}
	return nil
}

// ui is what the commands of this package print to.
type ui struct{ *command.UI }
