package language

import (
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// Options are the inputs of a scenario besides its files.
type Options struct {
	// Catalogue has the modes and styles that the scenario can choose from.
	Catalogue topology.Catalogue

	Vars     map[string]string // values of --var, as written
	VarFiles []string          // paths of --var-file; later ones win
	Environ  []string          // KEY=value; only NLAB_VAR_x is read
	Stdin    io.Reader         // read when the path is "-"
	Version  string            // of this program, for required_version; empty: not checked
	// Variation replaces what the file says, for one combination of a matrix.
	Variation Variation
}

// Scenario is a scenario as loaded.
type Scenario struct {
	Name    string // base name of the file or folder
	Dir     string // folder of the files; "." for standard input
	Files   []string
	Spec    *topology.Spec
	Lab     *topology.Lab
	Expects []*expect.Reach      // in the order of the files
	Reads   []string             // paths of the files that its expressions read, sorted
	Sources map[string][]byte    // file, as origins name it, to its text
	Inputs  map[string]cty.Value // the variables and their values
	Matrix  []Axis               // of the matrix block, if there is one
	// Variation is what was loaded instead of what the file says.
	Variation Variation
}

// Title is the scenario's name, with its variation in brackets.
func (s *Scenario) Title() string {
	if len(s.Variation) == 0 {
		return s.Name
	}
	return s.Name + " [" + s.Variation.String() + "]"
}

// Path returns the path that opens a file of an origin.
func (s *Scenario) Path(file string) string {
	if file == stdinName || filepath.IsAbs(file) || filepath.Base(file) != file {
		return file
	}
	return filepath.Join(s.Dir, file)
}

// Load reads a scenario: a file, a folder of files, or standard input for "-". It
// reports all problems together; with errors, the scenario is as complete as possible
// and must not be run. It is never nil.
//
// Origins name files by their base name, so that the same scenario resolves to the
// same values in any folder. Diagnostics name them by a path that can be opened.
func Load(path string, opts Options) (*Scenario, Diagnostics) {
	in, c := readInput(path, opts.Stdin)
	return load(in, c, opts)
}

// load evaluates what was read.
func load(in *input, c *collector, opts Options) (*Scenario, Diagnostics) {
	l := newLoader(in, c, opts.Catalogue)
	s := &Scenario{Name: in.name, Dir: in.dir, Files: in.files, Spec: l.spec, Sources: in.sources, Variation: opts.Variation}
	for _, name := range in.files {
		if src, ok := in.sources[name]; ok {
			l.load(src, name)
		}
	}
	if len(c.list) == 0 && len(in.files) > 0 && l.empty() {
		c.errorf(hcl.Range{Filename: in.files[0]}, "Empty scenario", "There is no block in %s. Begin with node \"node1\" {}.", c.path(in.files[0]))
	}
	if slices.ContainsFunc(c.list, isSyntax) || len(in.sources) == 0 || l.empty() {
		// What a file with a syntax error declares is unknown, so that every
		// reference to it would be reported too.
		s.Lab, _ = resolve.Lab(l.spec, l.catalogue)
		return s, c.sorted()
	}
	l.evaluate(opts)
	s.Name = l.spec.Name
	s.Lab, s.Expects, s.Inputs, s.Matrix = l.lab(), l.expects, l.variables, l.matrix
	s.Reads = slices.Sorted(maps.Keys(l.files.read))
	return s, c.sorted()
}

// isSyntax reports a diagnostic from before the first stage of evaluation that makes
// the later ones meaningless.
func isSyntax(d Diagnostic) bool {
	return d.Severity == Error && !slices.Contains([]string{"Unknown block", "Unknown attribute", "Unknown property", "Not supported yet"}, d.Summary)
}

// loader evaluates one scenario.
type loader struct {
	*reader
	in        *input
	catalogue topology.Catalogue
	files     fileReader
	variables map[string]cty.Value

	spec     *topology.Spec
	resolved *topology.Lab // of spec; nil when spec has changed since
	problems topology.Problems
	pods     map[string]*podBlock
	late     []func()
	places   *places
	expects  []*expect.Reach
	matrix   []Axis
	varied   Variation
}

func newLoader(in *input, c *collector, catalogue topology.Catalogue) *loader {
	l := &loader{
		in: in, catalogue: catalogue, files: fileReader{in.dir, map[string]bool{}}, variables: map[string]cty.Value{},
		spec: &topology.Spec{Name: in.name}, pods: map[string]*podBlock{},
	}
	l.reader = newReader(c, fileSchema(), functions(l.files), l.valueOf)
	return l
}

func (l *loader) load(src []byte, name string) {
	body := parse(l.collector, src, name)
	if body == nil {
		return
	}
	if native, ok := body.(*hclsyntax.Body); ok {
		instrument(native)
	}
	l.topLevel(body)
}

// evaluate runs the stages. Each reports all its mistakes; what depends on a
// mistake of an earlier one is skipped silently.
func (l *loader) evaluate(opts Options) {
	l.declareAll()
	l.evalVariables(opts)
	l.collectLocals()
	l.evalNetlab(opts)
	l.evalMatrix()
	l.varied = opts.Variation
	l.enter(stageNetwork)
	l.evalNetwork()
	l.evalProxy()
	l.evalPolicyOptions()
	l.vary(opts.Variation)
	l.enter(stageNodes)
	l.evalNodes()
	l.enter(stageClients)
	l.evalClients()
	l.enter(stageNamespaces)
	l.evalNamespaces()
	l.enter(stagePods)
	l.evalPods()
	l.enter(stageServices)
	l.evalServices()
	l.enter(stageLate)
	for _, f := range l.late {
		f()
	}
	l.evalPolicies()
	l.lab()
	l.collector.problems(l.problems)
	l.enter(stageExpects)
	l.evalExpects()
	l.evalUnusedLocals()
	if l.silent && !slices.ContainsFunc(l.list, func(d Diagnostic) bool { return d.Severity == Error }) {
		l.errorf(hcl.Range{}, "Scenario not understood", "Some value could not be evaluated, and no reason was found. Simplify the expressions.")
	}
}

// changed notes that resolved was made from an older spec.
func (l *loader) changed() { l.resolved = nil }

// lab is the lab so far. Resolving is allowed at any stage: what has an address keeps
// it when later things are added.
func (l *loader) lab() *topology.Lab {
	if l.resolved == nil {
		l.resolved, l.problems = resolve.Lab(l.spec, l.catalogue)
	}
	return l.resolved
}
