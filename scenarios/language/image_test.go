package language

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/netlab/netlab/datapath"
)

// writeImage writes an image that says something of its program into a folder.
func writeImage(t *testing.T, at, arch string, config v1.Config) {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: arch, Config: config, RootFS: v1.RootFS{Type: "layers"}})
	if err == nil {
		_, err = layout.Write(at, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img}))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What a pod says holds, and what it does not say is its image's.
func TestAnImageSaysWhatItsPodDoesNot(t *testing.T) {
	dir := t.TempDir()
	writeImage(t, filepath.Join(dir, "web"), runtime.GOARCH, v1.Config{Entrypoint: []string{"serve"}, Cmd: []string{"-v"}, Env: []string{"A=image", "B=image"}, WorkingDir: "/srv"})
	file := filepath.Join(dir, "a.hcl")
	text := `node "n" {}
pod "plain" { image = "web" }
pod "own" {
  image    = "web"
  command  = ["other"]
  work_dir = "/own"
  env      = { A = "own", C = "own" }
}
pod "none" { image = null }
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, diags := Load(file, Options{Catalogue: datapath.Catalogue()})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	for _, p := range s.Lab.Pods {
		got := strings.Join(append(slices.Clone(p.Command), p.Program.WorkDir, p.Env["A"], p.Env["B"], p.Env["C"]), " ")
		if want := map[string]string{"plain": "serve -v /srv image image ", "own": "other /own own image own", "none": "   "}[p.Name]; got != want {
			t.Errorf("%s: %q, want %q", p.Name, got, want)
		}
		if (p.Program.Image == nil) != (p.Name == "none") {
			t.Errorf("%s: image %v", p.Name, p.Program.Image)
		}
	}
}

func TestAnImageThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	writeImage(t, filepath.Join(dir, "elsewhere", "web"), runtime.GOARCH, v1.Config{Cmd: []string{"serve"}})
	writeImage(t, filepath.Join(dir, "lab", "foreign"), "other", v1.Config{Cmd: []string{"serve"}})
	writeImage(t, filepath.Join(dir, "lab", "idle"), runtime.GOARCH, v1.Config{Cmd: []string{""}})
	if err := os.Symlink(filepath.Join(dir, "elsewhere", "web"), filepath.Join(dir, "lab", "link")); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(dir, "elsewhere")
	for name, want := range map[string]string{
		"foreign":          "it is for linux/other, and this machine is linux/" + runtime.GOARCH,
		"idle":             "names no program to run. Add command",
		"../elsewhere/web": "outside of the scenario's folder",
		"link":             "outside of the scenario's folder",
	} {
		file := filepath.Join(dir, "lab", "a.hcl")
		if err := os.WriteFile(file, []byte("node \"n\" {}\npod \"a\" { image = \""+name+"\" }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, diags := Load(file, Options{Catalogue: datapath.Catalogue()})
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) || diags[0].Range == nil || diags[0].Range.Line != 2 {
			t.Errorf("%s: %v, want %q", name, diags, want)
		}
		_, diags = Load(file, Options{Catalogue: datapath.Catalogue(), Allow: []string{outside}})
		if allowed := strings.Contains(want, "outside"); allowed != (len(diags) == 0) {
			t.Errorf("%s, with its folder allowed: %v", name, diags)
		}
	}
}
