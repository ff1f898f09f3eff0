package language

import (
	"io"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/claims"
	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/kubernetes"
	"github.com/netlab/netlab/topology/resolve"
)

// Options are the inputs of a scenario besides its files.
type Options struct {
	// Catalogue has the modes and styles that the scenario can choose from.
	Catalogue topology.Catalogue

	Vars     map[string]string // values of --var, as written
	VarFiles []string          // paths of --var-file; later ones win
	Allow    []string          // folders with files that expressions may name, besides the scenario's own
	Environ  []string          // KEY=value; only NLAB_VAR_x is read
	Stdin    io.Reader         // read when the path is "-"
	Version  string            // of this program, for required_version; empty: not checked
	// Shared says that the variables are meant for several scenarios: one that this
	// scenario does not have is no mistake.
	Shared bool
	// Variation replaces what the file says, for one combination of a matrix.
	Variation Variation
	// Stageable says for each fault of a lab why it cannot be staged; nil: it can.
	Stageable func(*topology.Lab, []*topology.Fault) []error
	// Nodes is how many nodes the objects of manifests get if no node is written for them; 0: DefaultNodes.
	Nodes int
	// Strict makes an error of everything that is not carried over from manifests, unless it
	// is nothing in the cluster either, such as a pod that has ended.
	Strict bool
	// Progress follows the load, for who bounds it from outside; nil: nobody does.
	Progress *source.Progress
}

// Scenario is a scenario as loaded.
type Scenario struct {
	Name    string // base name of the file or folder
	Dir     string // folder of the files; "." for standard input
	Files   []string
	Spec    *topology.Spec
	Lab     *topology.Lab
	Expects []*expect.Reach   // in the order of the files, those of faults last
	Faults  []*topology.Fault // in the order of the files
	// Impossible says of faults, by name, why this variation cannot have them.
	Impossible map[string]string
	Reads      []string          // paths of the files that its expressions read, sorted
	Sources    map[string][]byte // file, as origins name it, to its text
	Matrix     []Axis            // of the matrix block, if there is one
	// Variables are the names of those that it declares, sorted.
	Variables []string
	// Variation is what was loaded instead of what the file says.
	Variation Variation

	adopted *kubernetes.Lab // of manifests; nil: nothing was evaluated
}

// Title is the scenario's name, with its variation in brackets.
func (s *Scenario) Title() string {
	if len(s.Variation) == 0 {
		return s.Name
	}
	return s.Name + " [" + s.Variation.String() + "]"
}

// Path returns the path that opens a file of an origin.
func (s *Scenario) Path(file string) string { return source.Path(s.Dir, file) }

// Load reads a scenario: a file, a folder whose files are its parts, or standard input for
// "-"; source.Find says what a folder is to a user. It reports all problems together; with errors, the scenario is as complete as possible
// and must not be run. It is never nil.
//
// Origins name files by their base name, so that the same scenario resolves to the
// same values in any folder. Diagnostics name them by a path that can be opened.
func Load(path string, opts Options) (*Scenario, source.Diagnostics) {
	in, c := source.Read(path, opts.Stdin, opts.Allow)
	c.Progress = opts.Progress
	return load(in, c, opts)
}

// load evaluates what was read.
func load(in *source.Input, c *source.Collector, opts Options) (*Scenario, source.Diagnostics) {
	l := newLoader(in, c, opts.Catalogue)
	s := &Scenario{Name: in.Name, Dir: in.Dir, Files: slices.Concat(in.Files, in.Manifests), Spec: l.spec, Sources: in.Sources, Variation: opts.Variation}
	for _, name := range in.Files {
		if src, ok := in.Sources[name]; ok {
			l.load(src, name)
		}
	}
	none := l.Empty() && len(in.Manifests) == 0
	if len(c.List) == 0 && len(in.Files) > 0 && none {
		c.Errorf(hcl.Range{Filename: in.Files[0]}, "Empty scenario", "There is no block in %s. Begin with node \"node1\" {}.", c.Path(in.Files[0]))
	}
	if slices.ContainsFunc(c.List, isSyntax) || len(in.Sources) == 0 || none {
		// What a file with a syntax error declares is unknown, so that every
		// reference to it would be reported too.
		s.Lab = l.lab()
		return s, c.Sorted()
	}
	l.evaluate(opts)
	if len(in.Manifests) > 0 && len(in.Files) == 0 && l.objectsOf.Empty() && !c.List.HasErrors() {
		c.Errorf(hcl.Range{Filename: in.Manifests[0]}, "Empty scenario", "There is no object in %s that a lab can have, such as a Pod or a Service. Name other files.", source.SomeOf(in.Manifests))
	}
	s.Variables = slices.Sorted(maps.Keys(l.Declared["variable"]))
	s.Name, s.adopted = l.spec.Name, l.adopted
	s.Lab, s.Expects, s.Faults, s.Impossible, s.Matrix = l.lab(), l.expects, l.faults, l.impossible, l.matrix
	s.Reads = slices.Sorted(maps.Keys(l.files.Opened))
	return s, c.Sorted()
}

// isSyntax reports a diagnostic from before the first stage of evaluation that makes
// the later ones meaningless.
func isSyntax(d source.Diagnostic) bool {
	return d.Severity == source.Error && !slices.Contains([]string{"Unknown block", "Unknown attribute", "Unknown property", "Not supported yet"}, d.Summary)
}

// loader evaluates one scenario.
type loader struct {
	*blocks.Reader
	in        *source.Input
	catalogue topology.Catalogue
	files     functions.Files
	images    map[string]*topology.Image // those that were opened, by their names
	variables map[string]cty.Value

	objectsOf *kubernetes.Objects // of manifests
	adopted   *kubernetes.Lab     // what they are in a lab

	spec       *topology.Spec
	resolved   *topology.Lab // of spec; nil when spec has changed since
	problems   topology.Problems
	late       []func()
	expects    []*expect.Reach
	faults     []*topology.Fault
	impossible map[string]string // faults, by name
	matrix     []Axis
	varied     Variation
}

func newLoader(in *source.Input, c *source.Collector, catalogue topology.Catalogue) *loader {
	l := &loader{
		in: in, catalogue: catalogue, files: functions.Files{Folders: in.Folders, Opened: map[string]bool{}}, images: map[string]*topology.Image{}, variables: map[string]cty.Value{}, impossible: map[string]string{},
		spec: &topology.Spec{Name: in.Name},
	}
	l.Reader = blocks.New(c, l.fileSchema(), functions.New(l.files), l.valueOf)
	return l
}

func (l *loader) load(src []byte, name string) {
	body := source.Parse(l.Collector, src, name)
	if body == nil {
		return
	}
	if native, ok := body.(*hclsyntax.Body); ok {
		functions.SplatInstances(native)
	}
	l.TopLevel(body)
}

// evaluate runs the stages. Each reports all its mistakes; what depends on a
// mistake of an earlier one is skipped silently.
func (l *loader) evaluate(opts Options) {
	l.DeclareAll()
	l.evalVariables(opts)
	l.CollectLocals()
	l.readManifests()
	l.evalNetlab(opts)
	l.evalMatrix()
	l.varied = opts.Variation
	for _, s := range []struct {
		stage blocks.Stage
		eval  []func()
	}{
		{blocks.StageNetwork, []func(){l.evalNetwork, l.evalProxy, l.evalDNS, l.evalPolicyOptions, l.vary}},
		{blocks.StageSubnets, []func(){l.evalSubnets}},
		{blocks.StageRouters, []func(){l.evalRouters}},
		{blocks.StageNodes, []func(){l.evalNodes, func() { l.adopt(opts) }}},
		{blocks.StageClients, []func(){l.evalClients}},
		{blocks.StageNamespaces, []func(){l.evalNamespaces, l.adoptNamespaces}},
		{blocks.StagePods, []func(){l.evalPods, l.adoptPods}},
		{blocks.StageServices, []func(){l.evalController, l.evalServices, l.adoptServices}},
		{blocks.StageLate, []func(){l.evalLate, l.evalIngresses, l.evalGateways, l.evalGrants, l.evalHTTPRoutes, l.evalPolicies, l.adoptPolicies}},
	} {
		l.Enter(s.stage)
		for _, eval := range s.eval {
			eval()
		}
		l.resolved = nil // it was made from an older spec
	}
	l.lab()
	l.Collector.Problems(l.objectsOf.InFields(l.problems))
	l.Enter(blocks.StageExpects)
	l.expects, l.faults = claims.Read(l.Reader, l.lab(), l.catalogue.Faults)
	l.EvalLocals()
	l.stageable(opts.Stageable)
	if l.Silent && !slices.ContainsFunc(l.List, func(d source.Diagnostic) bool { return d.Severity == source.Error }) {
		l.Errorf(hcl.Range{}, "Scenario not understood", "Some value could not be evaluated, and no reason was found. Simplify the expressions.")
	}
}

// then is done in the stage for what may refer to everything whose address is known.
func (l *loader) then(f func()) {
	of := l.Instance
	l.late = append(l.late, func() {
		l.Instance = of
		f()
		l.Instance = ""
	})
}

func (l *loader) evalLate() {
	for _, f := range l.late {
		f()
	}
}

// lab is the lab so far. Resolving is allowed at any stage: what has an address keeps
// it when later things are added.
func (l *loader) lab() *topology.Lab {
	if l.resolved == nil {
		l.Now(hcl.Range{})
		l.resolved, l.problems = resolve.Lab(l.spec, l.catalogue)
	}
	return l.resolved
}

// stageable reports faults that the lab cannot have. In a variation they are only noted.
func (l *loader) stageable(check func(*topology.Lab, []*topology.Fault) []error) {
	if check == nil || len(l.faults) == 0 || l.List.HasErrors() {
		return
	}
	for i, err := range check(l.lab(), l.faults) {
		switch {
		case err == nil:
		case len(l.varied) > 0:
			l.impossible[l.faults[i].Name] = err.Error()
		default:
			l.Errorf(source.RangeOf(l.faults[i].Origin), "Nothing to break", "The fault %q cannot be staged: %v. Choose another kind, or another network.", l.faults[i].Name, err)
		}
	}
}
