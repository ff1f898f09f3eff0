package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// said is what HCL can say: the literals of a diagnostic in its sources, with sample values
// where it formats some.
type said struct{ summary, detail, at string }

// parsers of HCL that scenarios use.
var parsers = []string{".", "hclsyntax", "json", "ext/dynblock", "ext/typeexpr"}

// everythingSaid reads the sources of HCL.
func everythingSaid(t testing.TB) []said {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/hashicorp/hcl/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSpace(string(dir))
	var all []said
	for _, p := range parsers {
		files, err := fs.Glob(os.DirFS(filepath.Join(root, p)), "*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(p, err)
		}
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				all = append(all, saidIn(t, filepath.Join(root, p, name))...)
			}
		}
	}
	if len(all) < 250 {
		t.Fatalf("found %d diagnostics only", len(all))
	}
	return all
}

func saidIn(t testing.TB, path string) (out []said) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{ // of identifiers that stand for a text
		"invalidTypeSummary": "Invalid type specification", "invalidIndex": "Invalid index", "unsupportedAttr": "Unsupported attribute",
		"summary": "Missing newline after argument", "detail": "An argument definition must end with a newline.",
	}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		var s said
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			switch key, _ := kv.Key.(*ast.Ident); {
			case key == nil:
			case key.Name == "Summary":
				s.summary = textOf(kv.Value, values)
			case key.Name == "Detail":
				s.detail = textOf(kv.Value, values)
			}
		}
		if s.summary != "" {
			s.at = set.Position(lit.Pos()).String()
			out = append(out, s)
		}
		return true
	})
	return out
}

var verb = regexp.MustCompile(`%[#+]?[0-9]*([a-zA-Z])`)

// textOf is the text of an expression, with samples for what is formatted.
func textOf(e ast.Expr, values map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.Ident:
		return values[e.Name]
	case *ast.BinaryExpr:
		return textOf(e.X, values) + textOf(e.Y, values)
	case *ast.CallExpr:
		if len(e.Args) == 0 {
			return ""
		}
		return verb.ReplaceAllStringFunc(textOf(e.Args[0], values), func(v string) string {
			switch v[len(v)-1] {
			case 'q':
				return `"sample"`
			case 'd':
				return "2"
			}
			return "sample"
		})
	}
	return ""
}

func TestEverythingThatHCLSaysHasOurWords(t *testing.T) {
	used := map[string]bool{}
	all := append(everythingSaid(t),
		said{"Unexpected comma after argument", "Argument definitions must be separated by newlines, not commas.", "hclsyntax/parser.go"},
		said{"Attribute redefined", `The argument "port" was already set at lab.hcl:3,5-9. Each argument may be set only once.`, "hclsyntax/parser.go"},
		said{"Missing required argument", `The argument "labels" is required, but no definition was found.`, "hclsyntax/structure.go"},
		said{"Missing kind for dynamic", "All dynamic blocks must have 1 labels (kind).", "hclsyntax/structure.go"},
		said{"Error in function call", `Call to function "try" failed: no expression succeeded:` + "\n- …", "ext/tryfunc"},
		said{"Inconsistent conditional result types", "The true and false result expressions must have consistent types. The 'true' value is string, but the 'false' value is list.", "hclsyntax"},
		said{"Invalid type specification", `Primitive type keyword "string" does not expect arguments.`, "typeexpr"})
	for _, s := range all {
		summary, detail := Worded(&hcl.Diagnostic{Summary: s.summary, Detail: s.detail})
		if summary == s.summary && detail == s.detail {
			t.Errorf("%s: %q, %q has no wording: add one to the table in wording.go", s.at, s.summary, s.detail)
			continue
		}
		used[summary+"\n"+detail] = true
		if n := len(strings.Fields(summary)); n > 6 || strings.ContainsAny(summary+detail, "\x00") || strings.Contains(summary, "$") {
			t.Errorf("%s: the summary %q has %d words", s.at, summary, n)
		}
		if !strings.HasSuffix(detail, ".") || strings.Contains(detail, "${1}") {
			t.Errorf("%s: %q is no sentence", s.at, detail)
		}
	}
	for _, w := range wordings {
		if !slices.ContainsFunc(all, func(s said) bool {
			return regexp.MustCompile("^(?s:" + w.summary + ")\n(?s:" + w.detail + ")").MatchString(s.summary + "\n" + s.detail)
		}) {
			t.Errorf("HCL never says %q, %q: remove it from the table", w.summary, w.detail)
		}
	}
}

// Fragments are the fixed parts of what HCL says: no text of ours holds one.
func TestOurWordsAreNotHCLs(t *testing.T) {
	raw := fragments(everythingSaid(t))
	for _, w := range wordings {
		for _, f := range raw {
			if strings.Contains(w.text, f) {
				t.Errorf("%q holds %q", w.text, f)
			}
		}
	}
}

// fragments are the parts of details that cannot be in a text by chance.
func fragments(all []said) (out []string) {
	for _, s := range all {
		for _, part := range regexp.MustCompile(`"?sample"?|\b2\b|[.;:,]`).Split(s.detail, -1) {
			if part = strings.TrimSpace(part); len(strings.Fields(part)) >= 5 && !slices.Contains(out, part) {
				out = append(out, part)
			}
		}
	}
	return out
}

// Whatever is wrong with the syntax of a file, it is said in our words.
func TestMistakesOfSyntaxAreSaidInOurWords(t *testing.T) {
	raw := fragments(everythingSaid(t))
	native, err := os.ReadFile("../../local-policy.hcl")
	if err != nil {
		t.Fatal(err)
	}
	pieces := []string{"{", "}", "[", "]", "(", ")", "\"", "=", ",", ":", "?", "...", ".", "${", "%{ if", "%{ endfor }", "for", "'", ";", "`", "“", "\\", "\\q", "<<E\n", "0x", "5.5.", "\n", "a b", "a \"b\" c", "**", "&", "|", "!", "-", "#", "/*", "in", "::", "f(", "[*]", ".*", "\t", "é", "@", "=>", "null", "try("}
	check := func(name, text string) {
		c := NewCollector("", map[string][]byte{name: []byte(text)})
		Parse(c, []byte(text), name)
		for _, d := range c.List {
			for _, f := range raw {
				if strings.Contains(d.Detail, f) {
					t.Fatalf("%s\n%q is HCL's own text, in %q", text, f, d.Detail)
				}
			}
		}
	}
	tried := 0
	for i := 0; i < len(native); i += 7 {
		p := pieces[(i/7)%len(pieces)]
		for _, text := range []string{string(native[:i]) + p + string(native[i:]), string(native[:i]) + p, string(native[:i]) + p + string(native[min(len(native), i+5):])} {
			check("lab.hcl", text)
			tried++
		}
	}
	json := `{"node": {"node1": {"labels": {"a": "${1 + 2}"}}}, "pod": [{"web": {"node": "x", "port": {"http": {"port": 80.5e1}}}}], "n": [true, null, 1]}`
	for i := range json {
		for k := range 3 {
			p := pieces[(i*3+k)%len(pieces)]
			check("lab.hcl.json", json[:i]+p+json[i:])
			check("lab.hcl.json", json[:i]+p)
			check("lab.hcl.json", json[:i]+json[min(len(json), i+1+k):])
			tried += 3
		}
	}
	if tried < 2000 {
		t.Errorf("tried %d texts only", tried)
	}
}
