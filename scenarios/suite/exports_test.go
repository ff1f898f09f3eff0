package suite_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/topology/kubernetes"
)

// stays are the blocks of a random lab that an export has no objects for, and the beginning of
// what it says about them.
var stays = regexp.MustCompile(`^(the )?(network|proxy|policies|subnet|router|client)\b`)

// A random lab whose cluster is exported, and imported beside the blocks that are no part of a
// cluster, is the same lab.
func TestExportsOfRandomLabsAreTheSameLab(t *testing.T) {
	var same, all atomic.Int64
	t.Run("labs", func(t *testing.T) {
		// A seed makes two labs, each of which is loaded twice: a quarter of the seeds will do.
		for _, seed := range seeds((*labCount + 3) / 4) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				for name, script := range map[string]script{"services": randomIn(seed, datapath.ClusterModes()), "policies": policyScript(seed, "kube-router")} {
					all.Add(1)
					if exported(t, seed, name, script.sayable().furnished(seed)) {
						same.Add(1)
					}
				}
			})
		}
	})
	if same.Load()*2 < all.Load() {
		t.Errorf("only %d of %d labs were compared", same.Load(), all.Load())
	}
}

// beyond are parts of nodes and services that the API has no fields for.
var beyond = regexp.MustCompile(`(?m)^(routes = \[.*|via = \[.*?\]|weight = \d+)$`)

// sayable is the script without them.
func (s script) sayable() (out script) {
	for _, b := range s {
		if !stays.MatchString(b.header) {
			lines := b.lines
			b.lines = nil
			for _, line := range lines {
				b.lines = append(b.lines, beyond.ReplaceAllString(line, ""))
			}
		}
		out = append(out, b)
	}
	return out
}

// furnished is the script with files in some of its pods.
func (s script) furnished(seed uint64) (out script) {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for _, b := range s {
		if strings.HasPrefix(b.header, "pod ") {
			b.lines = slices.Clone(b.lines)
			for i := range max(0, r.IntN(6)-2) {
				path := pick("/etc/app", "/srv", "/srv/a b", "", "/run") + fmt.Sprint("/", i) + pick(".conf", "/conf", "/..conf", "/%s ${x}")
				content := pick("", "a\n", "${x}\r\n%{y}\n", " \n#\n", "null", "12", "\x00\x7f\u2028", "é: - 'x'\n  \t\n")
				b.lines = append(b.lines, fmt.Sprintf("file %s {\n mode = %q\n content = %s\n}", quoted(path), pick("0644", "0600", "0755"), quoted(content)))
			}
		}
		out = append(out, b)
	}
	return out
}

// quoted is a string of the language.
func quoted(s string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
}

// exported compares a lab with what becomes of it, unless it has what objects cannot say.
func exported(t *testing.T, seed uint64, name string, s script) bool {
	t.Helper()
	lab, err := s.load(t)
	if err != nil {
		t.Fatal(err)
	}
	objects, lost := kubernetes.Manifests(lab.Spec, lab.Lab)
	for _, l := range lost {
		if !stays.MatchString(l.Why) {
			t.Logf("-seed %d: %s: %s", seed, name, l.Why)
			return false
		}
	}
	text := "import \"objects.yaml\" {}\n"
	for _, b := range s {
		if stays.MatchString(b.header) {
			text += script{b}.String()
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "random.hcl")
	for file, content := range map[string][]byte{path: []byte(text), filepath.Join(dir, "objects.yaml"): objects} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, diags := language.Load(path, language.Options{Catalogue: datapath.Catalogue()})
	if diags.HasErrors() {
		t.Errorf("-seed %d: %s: %s\n%s\n%s", seed, name, diags.JSON(), text, objects)
		return false
	}
	want, err1 := datapath.Compile(lab.Lab)
	got, err2 := datapath.Compile(again.Lab)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if changes := plan.Diff(want, got); !changes.Empty() {
		t.Errorf("-seed %d: %s: the import makes another lab:\n%s\n%s", seed, name, strings.Join(changes.Lines(), "\n"), s)
	}
	return true
}
