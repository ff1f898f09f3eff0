package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	// declared are the variables of all scenarios of a run; nil: there is one scenario.
	declared map[string]bool
}

// ForMany is the flags of a run over several scenarios: a variable reaches those that
// declare it.
func (f ScenarioFlags) ForMany(paths []string) ScenarioFlags {
	if len(paths) > 1 {
		f.declared = map[string]bool{}
	}
	return f
}

// Undeclared is an error about a variable that none of several scenarios declares.
func (f ScenarioFlags) Undeclared() error {
	for _, v := range f.vars {
		if name, _, _ := strings.Cut(v, "="); f.declared != nil && !f.declared[name] {
			known := slices.Collect(maps.Keys(f.declared))
			return Usage(fmt.Errorf("--var %s: none of the scenarios has a variable %q.%s", name, name, topology.DidYouMean(name, known)), fmt.Sprintf("declare it in one of them: variable %q {}", name))
		}
	}
	return nil
}

// LoadWith reads one scenario.
func (f ScenarioFlags) LoadWith(u *UI, path string) (*language.Scenario, source.Diagnostics, error) {
	options, err := f.Options(u)
	if err != nil {
		return nil, nil, err
	}
	s, diags := language.Load(path, options)
	for _, name := range s.Variables {
		if f.declared != nil {
			f.declared[name] = true
		}
	}
	return s, diags, nil
}

func (f *ScenarioFlags) Register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.vars, "var", nil, "set a variable: `NAME=VALUE` (repeatable)")
	c.Flags().StringArrayVar(&f.VarFiles, "var-file", nil, "read variables from a `FILE` (repeatable)")
}

// Given are the variables of a scenario that the flags set, and the files with more, as
// absolute paths.
func (f ScenarioFlags) Given(s *language.Scenario) (vars, files []string) {
	for _, v := range f.vars {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(s.Variables, name) {
			vars = append(vars, v)
		}
	}
	for _, file := range f.VarFiles {
		files = append(files, source.Absolute(file))
	}
	return vars, files
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
	return language.Options{Catalogue: datapath.Catalogue(), Vars: vars, VarFiles: f.VarFiles, Environ: os.Environ(), Stdin: u.In, Variation: f.Variation, Shared: f.declared != nil}, nil
}

// Arguments name a scenario, with what the flags say, on the command line of another verb;
// "" for standard input, which is read only once.
func (f ScenarioFlags) Arguments(path string, s *language.Scenario) string {
	if path == "-" {
		return ""
	}
	words := []string{"-f", plan.QuoteShell(path)}
	vars, _ := f.Given(s)
	for _, v := range vars {
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
	s, diags, err := f.LoadWith(u, path)
	if err != nil {
		return nil, err
	}
	if u.AsJSON && diags.HasErrors() {
		*u.diags = append(*u.diags, diags...)
	} else if len(diags) > 0 {
		_ = diags.WriteText(u.Errs, Colour(u.Errs))
	}
	if diags.HasErrors() {
		if dir := filepath.Dir(path); !u.AsJSON && path != "-" && !isFolder(path) && source.IsLab(dir) {
			u.Say("netlab: %s is a part of a lab\n  name its folder: %s", path, dir)
		}
		return nil, &Invalid{diags}
	}
	return s, nil
}

// Invalid is a scenario whose mistakes have been printed.
type Invalid struct{ Diagnostics source.Diagnostics }

func (*Invalid) Error() string { return "invalid scenario" }

// Unwrap is the exit code, without anything to print.
func (*Invalid) Unwrap() error { return Told(ExitInvalid) }

// PartsOf is a hint about invalid files of a folder that are valid together: they are meant as
// parts of one lab.
func (u *UI) PartsOf(invalid []string, f ScenarioFlags) {
	if u.AsJSON {
		return
	}
	tried := map[string]bool{}
	for _, path := range invalid {
		dir := filepath.Dir(path)
		if path == "-" || tried[dir] || source.IsLab(dir) {
			continue
		}
		tried[dir] = true
		if s, diags, err := f.LoadWith(u, dir); err == nil && !diags.HasErrors() && len(s.Files) > 1 {
			u.Say("netlab: the files of %s are valid together, but each file of a folder is a lab of its own\n  if they are parts of one lab, rename the folder: %s.lab", dir, filepath.Base(source.Absolute(dir)))
		}
	}
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

// Folders says, in the help of verbs, what a folder is.
const Folders = `A folder named NAME.lab is one lab, and its files are parts of it. In any other folder
each file is a lab of its own, and verbs that take several look into the folders below, too.`

// OrHere is what the arguments name, or the working directory.
func OrHere(args []string) []string {
	if len(args) == 0 {
		return []string{"."}
	}
	return args
}

// TheScenario is the scenario that the argument names, or the only one in the folder that it
// names; without an argument, in the working directory.
func TheScenario(args []string) (string, error) {
	dir, called := ".", "this folder"
	if len(args) > 0 {
		if dir, called = args[0], args[0]; !isFolder(dir) {
			return dir, nil
		}
	}
	found, err := source.FindIn(dir)
	switch {
	case err != nil:
		return "", Usage(err, "name a scenario file")
	case len(found) == 1:
		return found[0], nil
	default:
		return "", Usage(fmt.Errorf("several scenarios in %s: %s", called, strings.Join(found, ", ")),
			fmt.Sprintf("name one of them; if they are parts of one lab, rename the folder: %s.lab", filepath.Base(source.Absolute(dir))))
	}
}

// TheScenarios are those that the arguments name, each one of them, or the only one in the
// working directory.
func TheScenarios(args []string) ([]string, error) {
	if len(args) <= 1 {
		path, err := TheScenario(args)
		return []string{path}, err
	}
	var paths []string
	for i := range args {
		path, err := TheScenario(args[i : i+1])
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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
