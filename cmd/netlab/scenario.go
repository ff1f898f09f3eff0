package main

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

// scenarioFlags are the flags of every command that reads scenarios.
type scenarioFlags struct {
	vars     []string
	varFiles []string
}

func (f *scenarioFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.vars, "var", nil, "set a variable: `NAME=VALUE` (repeatable)")
	c.Flags().StringArrayVar(&f.varFiles, "var-file", nil, "read variables from a `FILE` (repeatable)")
}

func (f scenarioFlags) options(u *ui) (language.Options, error) {
	vars := map[string]string{}
	for _, v := range f.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			return language.Options{}, usage(fmt.Errorf("--var %s has no value", v), "write --var NAME=VALUE")
		}
		vars[name] = value
	}
	return language.Options{Catalogue: datapath.Catalogue(), Vars: vars, VarFiles: f.varFiles, Environ: os.Environ(), Stdin: u.in}, nil
}

// load reads one scenario and prints its diagnostics. If any is an error, it returns
// an error that prints nothing more.
func (u *ui) load(path string, f scenarioFlags) (*language.Scenario, error) {
	return u.loadVaried(path, f, nil)
}

func (u *ui) loadVaried(path string, f scenarioFlags, v language.Variation) (*language.Scenario, error) {
	options, err := f.options(u)
	if err != nil {
		return nil, err
	}
	options.Variation = v
	s, diags := language.Load(path, options)
	if len(diags) > 0 {
		_ = diags.WriteText(u.errs, colour(u.errs))
	}
	if diags.HasErrors() {
		return nil, told(exitInvalid)
	}
	return s, nil
}

// compile reads one scenario and turns it into a plan.
func (u *ui) compile(path string, f scenarioFlags) (*language.Scenario, *plan.Plan, error) {
	return u.compileVaried(path, f, nil)
}

// compileVaried is compile for one combination of a matrix.
func (u *ui) compileVaried(path string, f scenarioFlags, v language.Variation) (*language.Scenario, *plan.Plan, error) {
	s, err := u.loadVaried(path, f, v)
	if err != nil {
		return nil, nil, err
	}
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		return nil, nil, usage(err, "change "+path)
	}
	return s, p, nil
}

// misnamed is a usage error about a name in a lab, with what to write instead if that
// is known, else with the hint.
func misnamed(err error, hint string) error {
	var e *names.NameError
	if errors.As(err, &e) {
		hint = e.Hint
	}
	return usage(err, hint)
}

// orHere is what the arguments name, or the working directory.
func orHere(args []string) []string {
	if len(args) == 0 {
		return []string{"."}
	}
	return args
}

// theScenario is the scenario that the argument names, or the only one in the
// working directory.
func theScenario(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	found, err := source.FindIn(".")
	switch {
	case err != nil:
		return "", usage(err, "name a scenario file")
	case len(found) == 1:
		return found[0], nil
	default:
		return "", usage(fmt.Errorf("several scenarios in this folder: %s", strings.Join(found, ", ")), "name one of them")
	}
}

// counts describes the size of a lab.
func counts(l *topology.Lab) string {
	return strings.Join([]string{plural(len(l.Nodes), "node"), plural(len(l.Clients), "client"),
		plural(len(l.Pods), "pod"), plural(len(l.Services), "service")}, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// interrupted reports whether the user, not --timeout, ended the context.
func interrupted(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.As(context.Cause(ctx), new(*timeoutError))
}
