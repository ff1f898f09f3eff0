package source

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"

	"github.com/netlab/netlab/topology"
)

const (
	// MaxFile bounds a file of a scenario, in bytes.
	MaxFile = 1 << 20
	// MaxDepth bounds how deep brackets nest: the parser recurses.
	MaxDepth = 200
	// maxOperators bounds one expression: evaluation recurses.
	maxOperators = 1000
	// Stdin names standard input in diagnostics.
	Stdin = "<stdin>"
)

// NewCollector collects diagnostics about files of a folder, which they name by their base
// name.
func NewCollector(dir string, sources map[string][]byte) *Collector {
	return &Collector{Sources: sources, Siblings: map[string]int{}, Path: func(file string) string { return Path(dir, file) }}
}

// Path opens a file that is named as in ranges, by its base name if it is in the folder, or, a
// manifest, by its path from there.
func Path(dir, file string) string {
	if dir == "" || file == Stdin || filepath.IsAbs(file) || filepath.Base(file) != file && !IsManifest(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// Input is the source of a scenario: the files with its blocks, and those that
// set its variables.
type Input struct {
	Name    string
	Dir     string
	Single  bool     // one file of a folder, so others may belong to other scenarios
	Files   []string // names as in ranges, sorted
	Auto    []string // *.auto.vars.hcl
	Sources map[string][]byte
	Folders Folders // where files that it names may be
	// Manifests are the files with the objects of the scenario, where there is no block to say so.
	Manifests []string
}

// Read finds and reads the files of a path. The collector has the errors.
func Read(path string, stdin io.Reader, allow []string) (*Input, *Collector) {
	in := &Input{Sources: map[string][]byte{}}
	_, err := os.Stat(path)
	switch {
	case path == "-":
		in.Name, in.Dir, in.Files = "stdin", ".", []string{Stdin}
	case err != nil: // reported below
	case IsFolder(path):
		in.Dir, in.Name = path, ScenarioName(Absolute(path))
	default:
		in.Dir, in.Name, in.Single = filepath.Dir(path), ScenarioName(path), true
	}
	c := NewCollector(in.Dir, in.Sources)
	in.Folders = Folders{in.Dir, allow}
	switch {
	case path == "-":
		in.readStdin(c, stdin)
	case err != nil:
		c.Errorf(hcl.Range{}, "Cannot read scenario", "%s: %s.%s", path, Reason(err), nearFile(path))
	case IsFolder(path):
		in.readFolder(c)
	case isOtherTool(path):
		otherTool(c, path)
	case IsManifest(path):
		in.readManifest(c, filepath.Base(path))
	case !IsScenario(path) || !IsScenarioAt(path):
		c.Errorf(hcl.Range{}, "Not a scenario file", "%s does not end in .hcl or .hcl.json, or leads to a file that does not. Rename it, or name a scenario.", path)
	default:
		in.Files, in.Auto = []string{filepath.Base(path)}, autoFiles(in.Dir)
		in.readAll(c)
	}
	return in, c
}

func (in *Input) readStdin(c *Collector, stdin io.Reader) {
	if stdin == nil {
		c.Errorf(hcl.Range{}, "No standard input", "Standard input is empty. Name a file.")
		return
	}
	src, err := ReadLimited(stdin)
	if err != nil {
		c.Errorf(hcl.Range{Filename: Stdin}, "Cannot read scenario", "%s. Give a smaller one.", err)
	}
	in.Sources[Stdin] = src
}

func (in *Input) readFolder(c *Collector) {
	entries, err := os.ReadDir(in.Dir)
	if err != nil {
		c.Errorf(hcl.Range{}, "Cannot read scenario", "%s: %s. Name a folder that you can read.", in.Dir, Reason(err))
		return
	}
	other := ""
	var manifests []string
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, ".") || e.IsDir():
		case IsManifest(name) && !isOtherTool(name):
			manifests = append(manifests, name)
		case isAuto(name):
			in.Auto = append(in.Auto, name)
		case IsScenario(name):
			in.Files = append(in.Files, name)
		case isOtherTool(name):
			other = name
		}
	}
	switch {
	case len(in.Files) > 0:
	case len(manifests) > 0:
		for _, name := range manifests {
			in.readManifest(c, name)
		}
	case other != "":
		otherTool(c, filepath.Join(in.Dir, other))
	default:
		c.Errorf(hcl.Range{}, "No scenario in folder", "%s has no file that ends in .hcl or .hcl.json. Name another folder, or write a scenario there.", in.Dir)
	}
	in.readAll(c)
}

func (in *Input) readAll(c *Collector) {
	for _, name := range slices.Concat(in.Files, in.Auto) {
		src, err := in.Folders.Read(name)
		if err != nil {
			c.Errorf(hcl.Range{Filename: name}, "Cannot read scenario", "%s. Name a regular file that you can read.", Reason(err))
			continue
		}
		in.Sources[name] = src
	}
}

// Reason is an error without the path, which the sentence names already.
func Reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

func IsScenario(name string) bool {
	return strings.HasSuffix(name, ".hcl") || strings.HasSuffix(name, ".hcl.json")
}

func isAuto(name string) bool {
	return strings.HasSuffix(name, ".auto.vars.hcl") || strings.HasSuffix(name, ".auto.vars.hcl.json")
}

// isOtherTool reports a file of another tool of the same name, which describes labs
// of routers in YAML.
func isOtherTool(path string) bool {
	base := strings.ToLower(filepath.Base(path))
	return base == "topology.yml" || base == "topology.yaml"
}

func otherTool(c *Collector, path string) {
	c.Errorf(hcl.Range{}, "File of another netlab",
		"%s belongs to another tool named netlab (netlab.tools). Use that tool for it, or name a scenario that ends in .hcl.", path)
}

func autoFiles(dir string) []string {
	entries, _ := os.ReadDir(dir) // an unreadable folder has no auto files
	var out []string
	for _, e := range entries {
		if !e.IsDir() && isAuto(e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out
}

// ScenarioName is the name of a scenario that does not give itself one: that of its file or
// folder.
func ScenarioName(path string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".json"), ".hcl")
	if IsManifest(path) {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	return strings.TrimSuffix(name, labSuffix)
}

// Absolute is the absolute path, or the path as it is where there is none.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// nearFile suggests a scenario beside a path that does not exist.
func nearFile(path string) string {
	entries, _ := os.ReadDir(filepath.Dir(path))
	var known []string
	for _, e := range entries {
		if IsScenario(e.Name()) || e.IsDir() {
			known = append(known, e.Name())
		}
	}
	if h := topology.DidYouMean(filepath.Base(path), known); h != "" {
		return h
	}
	return " Name a file or folder that exists."
}

// Parse parses one file, or reports why it cannot.
func Parse(c *Collector, src []byte, name string) hcl.Body {
	c.Now(hcl.Range{Filename: name})
	if strings.HasSuffix(name, ".json") {
		if !checkText(c, src, name) {
			return nil
		}
		f, diags := hcljson.Parse(src, name)
		c.HCL(diags[:min(1, len(diags))]) // the others follow from the first
		if diags.HasErrors() || f == nil {
			return nil
		}
		return f.Body
	}
	if f := parseNative(c, src, name); f != nil {
		return f.Body
	}
	return nil
}

func parseNative(c *Collector, src []byte, name string) *hcl.File {
	if !checkText(c, src, name) {
		return nil
	}
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	c.HCL(slices.CompactFunc(slices.Clone(diags), func(a, b *hcl.Diagnostic) bool { return a.Subject.Start == b.Subject.Start })) // the second follows from the first
	if diags.HasErrors() || f == nil {
		return nil
	}
	return f
}
