package language

import (
	"errors"
	"fmt"
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
	// maxFile bounds a file of a scenario, in bytes.
	maxFile = 1 << 20
	// maxDepth bounds how deep brackets nest: the parser recurses.
	maxDepth = 200
	// maxOperators bounds one expression: evaluation recurses.
	maxOperators = 1000
	// stdinName names standard input in diagnostics.
	stdinName = "<stdin>"
)

func newCollector(dir string, sources map[string][]byte) *collector {
	return &collector{sources: sources, path: func(file string) string {
		if dir == "" || dir == "." || filepath.IsAbs(file) || file == stdinName || filepath.Base(file) != file {
			return file
		}
		return filepath.Join(dir, file)
	}}
}

// input is the source of a scenario: the files with its blocks, and those that
// set its variables.
type input struct {
	name    string
	dir     string
	single  bool     // one file of a folder, so others may belong to other scenarios
	files   []string // names as in ranges, sorted
	auto    []string // *.auto.vars.hcl
	sources map[string][]byte
}

// readInput finds and reads the files of a path. The collector has the errors.
func readInput(path string, stdin io.Reader) (*input, *collector) {
	in := &input{sources: map[string][]byte{}}
	if path == "-" {
		in.name, in.dir, in.files = "stdin", ".", []string{stdinName}
		c := newCollector(in.dir, in.sources)
		if stdin == nil {
			c.errorf(hcl.Range{}, "No standard input", "Standard input is empty. Name a file.")
			return in, c
		}
		src, err := readLimited(stdin)
		if err != nil {
			c.errorf(hcl.Range{Filename: stdinName}, "Cannot read scenario", "%s. Give a smaller one.", err)
		}
		in.sources[stdinName] = src
		return in, c
	}
	info, err := os.Stat(path)
	if err != nil {
		c := newCollector("", in.sources)
		c.errorf(hcl.Range{}, "Cannot read scenario", "%s: %s.%s", path, reason(err), nearFile(path))
		return in, c
	}
	if info.IsDir() {
		in.dir, in.name = path, scenarioName(absolute(path))
		c := newCollector(in.dir, in.sources)
		in.readFolder(c)
		return in, c
	}
	in.dir, in.name, in.single = filepath.Dir(path), scenarioName(path), true
	in.files = []string{filepath.Base(path)}
	c := newCollector(in.dir, in.sources)
	if isOtherTool(path) {
		otherTool(c, path)
		in.files = nil
		return in, c
	}
	if !isScenario(path) {
		c.errorf(hcl.Range{}, "Not a scenario file", "%s does not end in .hcl or .hcl.json. Rename it, or name a scenario.", path)
		in.files = nil
		return in, c
	}
	in.read(c, in.files[0])
	in.auto = autoFiles(in.dir)
	for _, f := range in.auto {
		in.read(c, f)
	}
	return in, c
}

func (in *input) readFolder(c *collector) {
	entries, err := os.ReadDir(in.dir)
	if err != nil {
		c.errorf(hcl.Range{}, "Cannot read scenario", "%s: %s. Name a folder that you can read.", in.dir, reason(err))
		return
	}
	other := ""
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, ".") || e.IsDir():
		case isAuto(name):
			in.auto = append(in.auto, name)
		case isScenario(name):
			in.files = append(in.files, name)
		case isOtherTool(name):
			other = name
		}
	}
	switch {
	case len(in.files) > 0:
	case other != "":
		otherTool(c, filepath.Join(in.dir, other))
	default:
		c.errorf(hcl.Range{}, "No scenario in folder", "%s has no file that ends in .hcl or .hcl.json. Name another folder, or write a scenario there.", in.dir)
	}
	for _, f := range append(slices.Clone(in.files), in.auto...) {
		in.read(c, f)
	}
}

func (in *input) read(c *collector, name string) {
	src, err := readFile(filepath.Join(in.dir, name))
	if err != nil {
		c.errorf(hcl.Range{Filename: name}, "Cannot read scenario", "%s. Name a regular file that you can read.", reason(err))
		return
	}
	in.sources[name] = src
}

// readFile reads a regular file of limited size: a device or a pipe would never end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLimited(f)
}

func readLimited(r io.Reader) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(src) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	return src, err
}

// reason is an error without the path, which the sentence names already.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

func isScenario(name string) bool {
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

func otherTool(c *collector, path string) {
	c.errorf(hcl.Range{}, "File of another netlab",
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

func scenarioName(path string) string {
	base := filepath.Base(path)
	base = strings.TrimSuffix(base, ".json")
	return strings.TrimSuffix(base, ".hcl")
}

func absolute(path string) string {
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
		if isScenario(e.Name()) || e.IsDir() {
			known = append(known, e.Name())
		}
	}
	if h := topology.DidYouMean(filepath.Base(path), known); h != "" {
		return h
	}
	return " Name a file or folder that exists."
}

// parse parses one file, or reports why it cannot.
func parse(c *collector, src []byte, name string) hcl.Body {
	if strings.HasSuffix(name, ".json") {
		if !checkText(c, src, name) {
			return nil
		}
		f, diags := hcljson.Parse(src, name)
		c.hcl(diags)
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

func parseNative(c *collector, src []byte, name string) *hcl.File {
	if !checkText(c, src, name) {
		return nil
	}
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	c.hcl(diags)
	if diags.HasErrors() || f == nil {
		return nil
	}
	return f
}
