package datapath_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/topology"
)

// entry is a mode, backend or style of the catalogue.
type entry struct {
	kind   string // as the catalogue names it
	name   string
	about  string
	limits string
	promise
	folder string // of its package, relative to this one; "": none
	used   func(*topology.Lab) bool
}

// promise is the other facts as text, and whether there are none.
type promise struct {
	text string
	none bool
}

// entries are all modes, backends and styles, and the proxy mode without a backend.
func entries() []entry {
	var list []entry
	catalogue := datapath.Catalogue()
	for i, m := range datapath.Modes() {
		f := catalogue.Networks[i]
		list = append(list, entry{"pod network", f.Name, f.About, f.Limits, promised(f), folderOf(m.Compile),
			func(lab *topology.Lab) bool { return lab.Network.Mode.Name == f.Name }})
	}
	for i, f := range catalogue.Proxies {
		e := entry{"proxy", f.Name, f.About, f.Limits, promised(f), "",
			func(lab *topology.Lab) bool { return lab.Proxy.Name() == f.Name }}
		if backends := datapath.Backends(); i < len(backends) {
			e.folder = folderOf(backends[i].Compile)
		}
		list = append(list, e)
	}
	for _, b := range datapath.Backends() {
		for _, l := range b.Others {
			list = append(list, entry{"layout", l.Name, l.About, "", promised(struct{}{}), folderOf(l.Compile),
				func(lab *topology.Lab) bool { return lab.Proxy.Mode.Name == b.Name && lab.Proxy.Layout == l.Name }})
		}
	}
	for i, f := range catalogue.Styles {
		e := entry{"policy style", f.Name, f.About, f.Limits, promised(f), "",
			func(lab *topology.Lab) bool { return len(lab.Policies) > 0 && lab.PolicyOptions.Name() == f.Name }}
		if styles := datapath.Styles(); i < len(styles) {
			e.folder = folderOf(styles[i].Compile)
		}
		list = append(list, e)
	}
	return list
}

// folderOf is the folder of a function: its name is that of its package, a dot, its own.
func folderOf(f any) string {
	if reflect.ValueOf(f).IsNil() {
		panic("an entry of datapath/catalogue.go has no Compile: give it one in its folder")
	}
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return strings.TrimPrefix(name[:strings.LastIndex(name, ".")], module+"datapath/")
}

// promised lists the facts other than Name, About and Limits: those that hold, in words.
func promised(facts any) promise {
	var held []string
	v := reflect.ValueOf(facts)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if name == "Name" || name == "About" || name == "Limits" || v.Field(i).IsZero() {
			continue
		}
		word := strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "$1 $2"))
		if v.Field(i).Kind() == reflect.String {
			word += " " + v.Field(i).String()
		}
		held = append(held, word)
	}
	return promise{strings.Join(held, ", "), len(held) == 0}
}

// Every entry of the catalogue has everything that ARCHITECTURE.md asks for.
func TestEveryModeIsComplete(t *testing.T) {
	scenarios := shippedLabs(t)
	for _, e := range entries() {
		t.Run(e.kind+" "+e.name, func(t *testing.T) {
			if e.about == "" {
				t.Errorf("no facts: datapath/%s must state what it promises", e.folder)
			}
			if e.folder != "" {
				essay(t, e.folder)
			}
			if !slices.ContainsFunc(labs, func(l golden) bool { return e.used(resolved(t, l.spec)) }) {
				t.Errorf("no golden plan: add a lab to datapath/labs_test.go, and run make golden")
			}
			if !slices.ContainsFunc(scenarios, e.used) {
				t.Errorf("no scenario: add one that uses it to a folder of scenarios")
			}
		})
	}
}

// essay looks in the doc.go of a mode for the path of a packet in numbered steps, and
// for what it costs.
func essay(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "doc.go"))
	if err != nil {
		t.Errorf("no essay: %v", err)
		return
	}
	for _, want := range []string{`(?m)^//  1\. `, `(?m)^//  3\. `, `What it costs`} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("datapath/%s/doc.go: no %q: describe the path of a packet step by step, and what it costs", folder, want)
		}
	}
}

// shippedLabs are the labs of all scenarios, in all variations of their matrices.
func shippedLabs(t *testing.T) []*topology.Lab {
	t.Helper()
	var list []*topology.Lab
	load := func(path string, v language.Variation) *language.Scenario {
		s, diags := language.Load(path, language.Options{Catalogue: datapath.Catalogue(), Variation: v})
		if diags.HasErrors() {
			t.Fatalf("%s: %s", path, diags.JSON())
		}
		return s
	}
	err := filepath.WalkDir("../scenarios", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".hcl" {
			for _, v := range language.Variations(load(path, nil).Matrix) {
				list = append(list, load(path, v).Lab)
			}
		}
		return err
	})
	if err != nil || len(list) < 50 {
		t.Fatalf("%d labs: %v", len(list), err)
	}
	return list
}

// A folder of a mode, backend or style that the catalogue does not list has no effect.
func TestEveryFolderIsInTheCatalogue(t *testing.T) {
	for _, root := range []string{"podnet", "service", "policy"} {
		folders, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range folders {
			folder := root + "/" + d.Name()
			if d.IsDir() && !strings.HasSuffix(d.Name(), "test") && !slices.ContainsFunc(entries(), func(e entry) bool { return e.folder == folder }) {
				t.Errorf("datapath/%s is not listed: add a line to datapath/catalogue.go", folder)
			}
		}
	}
}

func TestNamesOfTheCatalogueAreUnique(t *testing.T) {
	seen := map[string]bool{}
	once := func(kind, name string) {
		if seen[kind+" "+name] {
			t.Errorf("%s %s is listed twice in datapath/catalogue.go", kind, name)
		}
		seen[kind+" "+name] = true
	}
	for _, e := range entries() {
		once(e.kind, e.name)
	}
	for _, name := range datapath.Catalogue().PlannedNetworks {
		once("pod network", name)
	}
	for _, name := range datapath.Catalogue().PlannedProxies {
		once("proxy", name)
	}
}

// mayNotName are the packages that know modes only by their facts.
var mayNotName = []string{"../topology", "../topology/resolve", "../topology/resolve/draft", "../topology/resolve/services", "../topology/resolve/policies", "../topology/ipam", "../topology/meaning",
	"../scenarios/language", "../scenarios/language/source", "../scenarios/language/blocks", "../scenarios/language/names", "../scenarios/language/claims", "../scenarios/expect", "../scenarios/expect/trial", "../reports", ".", "podnet", "service", "policy", "walk", "walk/memory", "walk/trace", "kernel", "engine", "engine/inside", "probe"}

// sameWord are words spelled like a name but with another meaning.
var sameWord = map[string][]string{
	"../topology":                  {"none", "legacy", "udp"}, // detect_local, the rule layout, and a protocol
	"../scenarios/language":        {"exec"},                  // a way to be ready
	"../scenarios/language/claims": {"udp", "iptables"},       // a protocol, and a program
	"engine":                       {"exec"},                  // a verb
	"engine/inside":                {"udp"},
	".":                            {"none", "nftables", "exec"},              // catalogue.go: no backend, a planned one, and agents
	"kernel":                       {"vxlan", "bridge", "iptables", "legacy"}, // kinds of links, and programs
	"walk":                         {"udp"},                                   // a protocol
	"walk/trace":                   {"ipvs"},                                  // the kind of a step
}

// The names of modes, backends and styles appear only in the catalogue and in their own
// folders.
func TestModesAreKnownByTheirFacts(t *testing.T) {
	for _, pkg := range mayNotName {
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files: %v", pkg, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(lit.Value)
				if slices.ContainsFunc(entries(), func(e entry) bool { return e.name == text }) && !slices.Contains(sameWord[pkg], text) {
					t.Errorf("%s: %q: read the facts of the mode, which topology/catalogue.go describes", fset.Position(lit.Pos()), text)
				}
				return true
			})
		}
	}
}

// catalogueTable is the catalogue as ARCHITECTURE.md shows it.
func catalogueTable() string {
	var b strings.Builder
	b.WriteString("| | name | what it is | what it promises | what it needs or cannot do |\n|---|---|---|---|---|\n")
	last := ""
	for _, e := range entries() {
		kind := e.kind
		if kind == last {
			kind = ""
		}
		last = e.kind
		name := "`" + e.name + "`"
		if e.folder != "" {
			name = "[" + name + "](datapath/" + e.folder + "/doc.go)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", kind, name, e.about, e.text, e.limits)
	}
	return b.String()
}

func TestTheCatalogueIsDocumented(t *testing.T) { documented(t, "catalogue", catalogueTable()) }

// documented compares a part of ARCHITECTURE.md with what it is made from.
func documented(t *testing.T, part, want string) {
	t.Helper()
	const path = "../ARCHITECTURE.md"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+part+" -->\n", "<!-- end of "+part+" -->"
	before, rest, ok1 := strings.Cut(string(b), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no markers for the %s", path, part)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Errorf("the %s is out of date: run make golden\ngot\n%s\nwant\n%s", part, have, want)
	}
}
