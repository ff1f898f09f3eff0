package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/shell"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/scenarios/suite"
	"github.com/netlab/netlab/topology"
)

// ScenarioFlags are the flags of every command that reads scenarios.
type ScenarioFlags struct {
	vars     []string
	VarFiles []string
	// AllowPaths are folders with files that the scenario may read besides its own.
	AllowPaths []string
	nodes      int // for manifests that have none
	// Strict refuses manifests of which not everything is carried over.
	Strict bool
	// HostPrograms lets the programs of the scenario have this machine's files and rights.
	HostPrograms bool
	// Fault is the name of a fault of the scenario to build into the plan; "": none.
	Fault string
	// Real is a kube-proxy of this machine that does the work of the proxy mode, where it has that
	// mode; "": none.
	Real string
	// Looking is for verbs that show what is in a plan, and try no expectation: one that speaks of what
	// the plan has not is a warning, whose remedy is to look.
	Looking bool
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
	s, diags, err := f.read(u, func(o language.Options) (*language.Scenario, source.Diagnostics) { return language.Load(path, o) })
	if err != nil {
		return nil, nil, err
	}
	for _, name := range s.Variables {
		if f.declared != nil {
			f.declared[name] = true
		}
	}
	return s, diags, nil
}

// read loads something within the limits of a command.
func (f ScenarioFlags) read(u *UI, load func(language.Options) (*language.Scenario, source.Diagnostics)) (s *language.Scenario, diags source.Diagnostics, err error) {
	options, err := f.Options(u)
	if err != nil {
		return nil, nil, err
	}
	options.Progress = &source.Progress{}
	err = u.Bounded(options.Progress, func() error {
		s, diags = load(options)
		return nil
	})
	return s, diags, err
}

// RegisterNodes adds the flag of commands that read manifests.
func (f *ScenarioFlags) RegisterNodes(c *cobra.Command) {
	c.Flags().Var((*nodeCount)(&f.nodes), "nodes", fmt.Sprintf("the `NUMBER` of nodes for manifests that have none (default %d)", language.DefaultNodes))
}

// nodeCount is a flag from 1 to as many nodes as node_cidr has room for.
type nodeCount int

func (n *nodeCount) Set(text string) error {
	const most = 200
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 || v > most {
		return fmt.Errorf("use a number from 1 to %d", most)
	}
	*n = nodeCount(v)
	return nil
}

func (n *nodeCount) Type() string { return "int" }

func (n *nodeCount) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

func (f *ScenarioFlags) Register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.vars, "var", nil, "set a variable: `NAME=VALUE` (repeatable)")
	c.Flags().StringArrayVar(&f.VarFiles, "var-file", nil, "read variables from a `FILE` (repeatable)")
	c.Flags().StringArrayVar(&f.AllowPaths, "allow-path", nil, "let the scenario read files below a `DIR`, too, not only below its own folder (repeatable)")
	f.RegisterNodes(c)
}

// RegisterFault adds the flag of commands that can break a lab on purpose.
func (f *ScenarioFlags) RegisterFault(c *cobra.Command) {
	c.Flags().StringVar(&f.Fault, "fault", "", "with a fault of the scenario in it: its `NAME`")
}

// RegisterPrograms adds the flag of commands that run the programs of a scenario.
func (f *ScenarioFlags) RegisterPrograms(c *cobra.Command) {
	c.Flags().BoolVar(&f.HostPrograms, "allow-host-programs", false, "do not confine the programs of the scenario, but for those in an image: they get this machine's files, and all rights over it that you have")
}

// Given are the variables of a scenario that the flags set, the files with more, and the folders
// that it may read, as absolute paths.
func (f ScenarioFlags) Given(s *language.Scenario) (vars, files, allowed []string) {
	for _, v := range f.vars {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(s.Variables, name) {
			vars = append(vars, v)
		}
	}
	for _, file := range f.VarFiles {
		files = append(files, source.Absolute(file))
	}
	for _, dir := range f.AllowPaths {
		allowed = append(allowed, source.Absolute(dir))
	}
	return vars, files, allowed
}

// Default sets variables, folders, a fault and the number of nodes for manifests unless flags do.
func (f *ScenarioFlags) Default(vars, files, allowed []string, fault string, nodes int) {
	if f.nodes == 0 {
		f.nodes = nodes
	}
	if len(f.vars)+len(f.VarFiles) == 0 {
		f.vars, f.VarFiles = vars, files
	}
	f.AllowPaths = append(f.AllowPaths, allowed...)
	f.Fault = cmp.Or(f.Fault, fault)
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
	return language.Options{Catalogue: datapath.Catalogue(), Vars: vars, VarFiles: f.VarFiles, Allow: f.AllowPaths, Environ: os.Environ(), Nodes: f.nodes, Strict: f.Strict, Stdin: u.In, Variation: f.Variation, Stageable: datapath.Stageable, Shared: f.declared != nil}, nil
}

// Arguments name a scenario, with what the flags say, on the command line of another verb;
// "" for standard input, which is read only once.
func (f ScenarioFlags) Arguments(path string, s *language.Scenario) string {
	if path == "-" {
		return ""
	}
	words := []string{"-f", shell.Quote(path)}
	vars, _, _ := f.Given(s)
	for _, v := range vars {
		words = append(words, "--var", shell.Quote(v))
	}
	for _, file := range f.VarFiles {
		words = append(words, "--var-file", shell.Quote(file))
	}
	for _, dir := range f.AllowPaths {
		words = append(words, "--allow-path", shell.Quote(dir))
	}
	if f.nodes != 0 {
		words = append(words, "--nodes", strconv.Itoa(f.nodes))
	}
	for _, s := range f.Variation {
		words = append(words, "--matrix", s.Axis+"="+s.Value)
	}
	return strings.Join(words, " ")
}

// Variations are the combinations of a matrix that texts such as proxy=iptables,ipvs name.
func Variations(texts []string) ([]language.Variation, error) {
	catalogue := datapath.Catalogue()
	var axes []language.Axis
	for _, text := range texts {
		axis, err := language.ParseAxis(text, &catalogue)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(axes, func(a language.Axis) bool { return a.Name == axis.Name }) {
			return nil, fmt.Errorf("%s is there twice", axis.Name)
		}
		axes = append(axes, axis)
	}
	return language.Variations(axes), nil
}

// Import reads Kubernetes objects and prints their diagnostics, as Load does.
func (u *UI) Import(paths []string, f ScenarioFlags) (*language.Scenario, error) {
	s, diags, err := f.read(u, func(o language.Options) (*language.Scenario, source.Diagnostics) { return language.Import(paths, o) })
	if err != nil {
		return nil, err
	}
	return s, u.tell(diags)
}

// tell prints diagnostics. If any is an error, it returns an error that prints nothing more.
func (u *UI) tell(diags source.Diagnostics) error {
	if u.AsJSON && diags.HasErrors() {
		*u.diags = append(*u.diags, diags...)
	} else if len(diags) > 0 {
		_ = diags.WriteText(u.Errs, Colour(u.Errs))
	}
	if diags.HasErrors() {
		return &Invalid{diags}
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
	if err := u.tell(diags); err != nil {
		if dir := filepath.Dir(path); !u.AsJSON && path != "-" && !source.IsFolder(path) && source.IsLab(dir) {
			u.Say("netlab: %s is a part of a lab\n  name its folder: %s", path, dir)
		}
		return nil, err
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
	fault, err := f.FaultOf(s)
	if err != nil {
		return nil, nil, err
	}
	if f.Real != "" && datapath.KubeProxyLacks(s.Lab) == "" {
		datapath.UseKubeProxy(s.Lab, f.Real)
	}
	var p *plan.Plan
	err = u.Bounded(&source.Progress{}, func() error {
		if p, err = datapath.Compile(s.Lab); err != nil {
			return Usage(err, "change "+path)
		}
		if fault == nil {
			wrong := mistakes(s, p)
			for i := range wrong {
				if f.Looking {
					wrong[i].Severity = source.Warning
				}
			}
			return u.tell(wrong)
		}
		if p, err = (&suite.Lab{Scenario: s, Plan: p}).During(fault); err != nil {
			return Usage(fmt.Errorf("the fault %q cannot be staged: %w", fault.Name, err), "choose another one of "+path)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return s, p, nil
}

// mistakes are what the expectations of a scenario say of hosts that is not in its plan.
func mistakes(s *language.Scenario, p *plan.Plan) source.Diagnostics {
	c := source.NewCollector(s.Dir, s.Sources)
	c.Problems(suite.Mistakes(s, p))
	return c.Sorted()
}

// Diagnose reads one scenario and returns all that is wrong with it, also once it is compiled.
func (f ScenarioFlags) Diagnose(u *UI, path string) (*language.Scenario, source.Diagnostics, error) {
	s, diags, err := f.LoadWith(u, path)
	if err != nil || diags.HasErrors() {
		return s, diags, err
	}
	err = u.Bounded(&source.Progress{}, func() error {
		p, err := datapath.Compile(s.Lab)
		if err == nil {
			diags = append(diags, mistakes(s, p)...)
		}
		return err
	})
	return s, diags, err
}

// OnPaper is the plan to follow packets through: that of a scenario as it is built, but where agents
// do the work, with the rules that they are measured by.
func (u *UI) OnPaper(s *language.Scenario, p *plan.Plan, f ScenarioFlags) (*plan.Plan, error) {
	fault, err := f.FaultOf(s)
	if err != nil || !s.Lab.HasAgents() {
		return p, err
	}
	if p, err = datapath.OnPaper(s.Lab, p); err != nil {
		return nil, err
	}
	return (&suite.Lab{Scenario: s, Plan: p}).During(fault)
}

// FaultOf finds the fault that the flags name; nil: they name none.
func (f ScenarioFlags) FaultOf(s *language.Scenario) (*topology.Fault, error) {
	var names []string
	for _, fault := range s.Faults {
		if fault.Name == f.Fault {
			return fault, nil
		}
		names = append(names, strconv.Quote(fault.Name))
	}
	switch {
	case f.Fault == "":
		return nil, nil
	case names == nil:
		return nil, Usage(fmt.Errorf("--fault %q: %s has no fault block", f.Fault, s.Name), "what can break: netlab help language fault")
	}
	return nil, Usage(fmt.Errorf("--fault %q: %s has no such fault", f.Fault, s.Name), "it has "+strings.Join(names, ", "))
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

// Find is source.Find, which a signal ends: a folder may be a whole disk.
func (u *UI) Find(args []string) ([]string, error) {
	var paths []string
	err := u.untilSignal(func() (err error) {
		if paths, err = source.Find(args); err != nil {
			return Usage(err, "name a scenario file")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return paths, nil
}

// TheScenario is the scenario that the argument names, or the only one in the folder that it
// names; without an argument, in the working directory.
func TheScenario(args []string) (string, error) {
	dir, called := ".", "this folder"
	if len(args) > 0 {
		if dir, called = args[0], args[0]; !source.IsFolder(dir) {
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

// Counts describes the size of a lab.
func Counts(l *topology.Lab) string {
	parts := []string{Plural(len(l.Nodes), "node"), Plural(len(l.Clients), "client"), Plural(len(l.Pods), "pod"), Plural(len(l.Services), "service")}
	if len(l.Routers) > 0 {
		parts = slices.Insert(parts, 1, Plural(len(l.Routers), "router"))
	}
	return strings.Join(parts, ", ")
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
