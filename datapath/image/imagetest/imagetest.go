// Package imagetest makes container images of programs that this machine has, for tests: with
// the libraries that they need, and nothing else.
package imagetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is what goes into one.
type Image struct {
	Config   v1.Config
	Programs []string          // by name
	Paths    []string          // files and links of the machine, besides
	Files    map[string]string // texts, by path
	Links    map[string]string // symbolic ones: to where
}

// Folder writes it as a folder in the OCI layout, which does not exist yet.
func (x Image) Folder(t testing.TB, at string) {
	t.Helper()
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: x.build(t)})
	if _, err := layout.Write(at, index); err != nil {
		t.Fatal(err)
	}
}

// Archive writes it as an OCI archive.
func (x Image) Archive(t testing.TB, at string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	x.Folder(t, dir)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), os.WriteFile(at, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (x Image) build(t testing.TB) v1.Image {
	t.Helper()
	var b bytes.Buffer
	p := packer{t: t, w: tar.NewWriter(&b), has: map[string]bool{}}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		if info, err := os.Lstat(dir); err == nil && info.Mode().Type() == fs.ModeSymlink {
			p.add(dir)
		}
	}
	for _, name := range x.Programs {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("this machine lacks %s", name)
		}
		p.program(path)
	}
	for _, path := range x.Paths {
		p.program(path)
	}
	for path, text := range x.Files {
		p.write(&tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}, text)
	}
	for path, to := range x.Links {
		p.write(&tar.Header{Name: path, Typeflag: tar.TypeSymlink, Linkname: to}, "")
	}
	if err := p.w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Config = "linux", runtime.GOARCH, x.Config
	if img, err = mutate.ConfigFile(img, c); err != nil {
		t.Fatal(err)
	}
	return img
}

// packer writes files of the machine into a layer, each once.
type packer struct {
	t   testing.TB
	w   *tar.Writer
	has map[string]bool
}

// shared finds the libraries in what ldd prints.
var shared = regexp.MustCompile(`(/\S+) \(0x`)

// program adds a program or a library with the libraries that it needs.
func (p packer) program(path string) {
	p.t.Helper()
	p.add(path)
	said, _ := exec.Command("ldd", path).Output() // fails for what needs none
	for _, m := range shared.FindAllStringSubmatch(string(said), -1) {
		p.add(m[1])
	}
}

// add adds a file, or a link with what it leads to.
func (p packer) add(path string) {
	p.t.Helper()
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		p.t.Fatal(err)
	}
	path = filepath.Join(dir, filepath.Base(path))
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		p.t.Fatal(err)
	case p.has[path]:
	case info.Mode().Type() == fs.ModeSymlink:
		to, err := os.Readlink(path)
		if err != nil {
			p.t.Fatal(err)
		}
		p.write(&tar.Header{Name: path, Typeflag: tar.TypeSymlink, Linkname: to}, "")
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		if info, err := os.Stat(to); err == nil && info.Mode().IsRegular() {
			p.add(to)
		}
	case info.Mode().IsRegular():
		text, err := os.ReadFile(path)
		if err != nil {
			p.t.Fatal(err)
		}
		p.write(&tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: int64(info.Mode().Perm()), Size: int64(len(text))}, string(text))
	}
}

func (p packer) write(h *tar.Header, text string) {
	p.t.Helper()
	p.has[h.Name] = true
	h.Name = strings.TrimPrefix(h.Name, "/")
	if err := p.w.WriteHeader(h); err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.WriteString(p.w, text); err != nil {
		p.t.Fatal(err)
	}
}
