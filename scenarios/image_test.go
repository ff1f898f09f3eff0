package scenarios_test

import (
	"archive/tar"
	"bytes"
	"flag"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/netlab/netlab/datapath/image"
)

var updateImage = flag.Bool("update-image", false, "compile and write programs/image.tar: needs gcc and gcc-aarch64-linux-gnu")

// compilers are those of the platforms that the image is for.
var compilers = map[string]string{"amd64": "x86_64-linux-gnu-gcc", "arm64": "aarch64-linux-gnu-gcc"}

// The archive that ships holds what its sources say. It has the source of its program, so that
// one that was not compiled again is found.
func TestTheImageThatShipsIsThatOfItsSources(t *testing.T) {
	if *updateImage {
		writeImage(t)
	}
	img, err := image.OpenFile("programs/image.tar")
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	dir := t.TempDir()
	if err := img.Unpack(t.Context(), dir, nil, image.Usual); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server.c", "index.html"} {
		want, err := os.ReadFile("programs/image/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "srv", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is another one in the image (%v): go test ./scenarios -run ImageThatShips -update-image", name, err)
		}
	}
}

func writeImage(t *testing.T) {
	t.Helper()
	index := mutate.IndexMediaType(empty.Index, "application/vnd.oci.image.index.v1+json")
	for _, arch := range []string{"amd64", "arm64"} {
		program := filepath.Join(t.TempDir(), "server")
		flags := []string{"-Os", "-static", "-nostdlib", "-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
			"-fno-pie", "-no-pie", "-Wl,-z,noseparate-code,-z,max-page-size=4096,--build-id=none,-s", "-o", program, "programs/image/server.c"}
		if said, err := exec.Command(compilers[arch], flags...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		var files bytes.Buffer
		w := tar.NewWriter(&files)
		for _, f := range []struct {
			to, from string
			mode     int64
		}{{"srv/", "", 0o755}, {"srv/server", program, 0o755}, {"srv/server.c", "programs/image/server.c", 0o644}, {"srv/index.html", "programs/image/index.html", 0o644}} {
			addFile(t, w, f.to, f.from, f.mode)
		}
		w.Close()
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil }, tarball.WithMediaType("application/vnd.oci.image.layer.v1.tar+gzip"))
		if err != nil {
			t.Fatal(err)
		}
		img, err := mutate.AppendLayers(mutate.MediaType(empty.Image, "application/vnd.oci.image.manifest.v1+json"), layer)
		if err == nil {
			img, err = mutate.ConfigFile(img, &v1.ConfigFile{OS: "linux", Architecture: arch, RootFS: rootFS(t, img),
				Config: v1.Config{Entrypoint: []string{"/srv/server"}, WorkingDir: "/srv", Env: []string{"PORT=8080", "GREETING=of-the-image"}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	dir := t.TempDir()
	if _, err := layout.Write(dir, index); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			addFile(t, w, name, filepath.Join(dir, name), 0o644)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := os.WriteFile("programs/image.tar", archive.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func rootFS(t *testing.T, img v1.Image) v1.RootFS {
	t.Helper()
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return c.RootFS
}

// addFile writes a file, or without one a folder, whose times and owner are the same everywhere.
func addFile(t *testing.T, w *tar.Writer, to, from string, mode int64) {
	t.Helper()
	h, text := &tar.Header{Name: to, Mode: mode, Typeflag: tar.TypeDir}, []byte(nil)
	if from != "" {
		var err error
		if text, err = os.ReadFile(from); err != nil {
			t.Fatal(err)
		}
		h.Typeflag, h.Size = tar.TypeReg, int64(len(text))
	}
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
}
