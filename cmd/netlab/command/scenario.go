package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// ScenarioFlags are the flags of every command that reads scenarios.
type ScenarioFlags struct {
	vars     []string
	VarFiles []string
	// Variation is the combination of a matrix to load.
	Variation language.Variation
}

func (f *ScenarioFlags) Register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.vars, "var", nil, "set a variable: `NAME=VALUE` (repeatable)")
	c.Flags().StringArrayVar(&f.VarFiles, "var-file", nil, "read variables from a `FILE` (repeatable)")
}

// Given are the variables that the flags set, and the files with more, as absolute paths.
func (f ScenarioFlags) Given() (vars, files []string) {
	for _, file := range f.VarFiles {
		files = append(files, source.Absolute(file))
	}
	return f.vars, files
}

// Default sets variables unless flags do.
func (f *ScenarioFlags) Default(vars, files []string) {
	if len(f.vars)+len(f.VarFiles) == 0 {
		f.vars, f.VarFiles = vars, files
	}
}

func (f ScenarioFlags) Options(u *UI) (language.Options, error) {
	vars := map[string]string{}
	for _, v := range f.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			return language.Options{}, Usage(fmt.Errorf("--var %s has no value", v), "write --var NAME=VALUE")
		}
		vars[name] = value
	}
	return language.Options{Catalogue: datapath.Catalogue(), Vars: vars, VarFiles: f.VarFiles, Environ: os.Environ(), Stdin: u.In, Variation: f.Variation}, nil
}

// Arguments name a scenario, with what the flags say, on the command line of another verb;
// "" for standard input, which is read only once.
func (f ScenarioFlags) Arguments(path string) string {
	if path == "-" {
		return ""
	}
	words := []string{"-f", plan.QuoteShell(path)}
	for _, v := range f.vars {
		words = append(words, "--var", plan.QuoteShell(v))
	}
	for _, file := range f.VarFiles {
		words = append(words, "--var-file", plan.QuoteShell(file))
	}
	for _, s := range f.Variation {
		words = append(words, "--matrix", s.Axis+"="+s.Value)
	}
	return strings.Join(words, " ")
}

// Vary loads the one combination of a matrix that texts such as proxy=ipvs name.
func (f *ScenarioFlags) Vary(texts []string) error {
	catalogue := datapath.Catalogue()
	for _, text := range texts {
		axis, err := language.ParseAxis(text, &catalogue)
		if err == nil && len(axis.Values) > 1 {
			err = fmt.Errorf("%q has several values", text)
		}
		if err != nil {
			return Usage(fmt.Errorf("--matrix: %w", err), "write one value, for example --matrix proxy=ipvs")
		}
		f.Variation = append(f.Variation, language.Setting{Axis: axis.Name, Value: axis.Values[0]})
	}
	return nil
}

// Load reads one scenario and prints its diagnostics. If any is an error, it returns
// an error that prints nothing more.
func (u *UI) Load(path string, f ScenarioFlags) (*language.Scenario, error) {
	options, err := f.Options(u)
	if err != nil {
		return nil, err
	}
	s, diags := language.Load(path, options)
	if u.AsJSON && diags.HasErrors() {
		*u.diags = append(*u.diags, diags...)
	} else if len(diags) > 0 {
		_ = diags.WriteText(u.Errs, Colour(u.Errs))
	}
	if diags.HasErrors() {
		return nil, Told(ExitInvalid)
	}
	return s, nil
}

// Compile reads one scenario and turns it into a plan.
func (u *UI) Compile(path string, f ScenarioFlags) (*language.Scenario, *plan.Plan, error) {
	s, err := u.Load(path, f)
	if err != nil {
		return nil, nil, err
	}
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		return nil, nil, Usage(err, "change "+path)
	}
	return s, p, nil
}

// Misnamed is a usage error about a name in a lab, with what to write instead if that
// is known, else with the hint.
func Misnamed(err error, hint string) error {
	var e *names.NameError
	if errors.As(err, &e) {
		hint = e.Hint
	}
	return Usage(err, hint)
}

// OrHere is what the arguments name, or the working directory.
func OrHere(args []string) []string {
	if len(args) == 0 {
		return []string{"."}
	}
	return args
}

// TheScenario is the scenario that the argument names, or the only one in the
// working directory.
func TheScenario(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	found, err := source.FindIn(".")
	switch {
	case err != nil:
		return "", Usage(err, "name a scenario file")
	case len(found) == 1:
		return found[0], nil
	default:
		return "", Usage(fmt.Errorf("several scenarios in this folder: %s", strings.Join(found, ", ")), "name one of them")
	}
}

// Counts describes the size of a lab.
func Counts(l *topology.Lab) string {
	return strings.Join([]string{Plural(len(l.Nodes), "node"), Plural(len(l.Clients), "client"),
		Plural(len(l.Pods), "pod"), Plural(len(l.Services), "service")}, ", ")
}

func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Interrupted reports whether the user, not --timeout, ended the context.
func Interrupted(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.As(context.Cause(ctx), new(*TimeoutError))
}
