package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// entry is one of a layer: a file with a text; a folder, whose name ends in a slash; or what
// kind says.
type entry struct {
	name, text string
	kind       byte
	mode       int64
}

func file(name, text string) entry { return entry{name: name, text: text} }
func dir(name string) entry        { return entry{name: name + "/", kind: tar.TypeDir, mode: 0o755} }
func symlink(name, to string) entry {
	return entry{name: name, text: to, kind: tar.TypeSymlink}
}
func hardlink(name, to string) entry { return entry{name: name, text: to, kind: tar.TypeLink} }

// packed is an archive of entries.
func packed(t *testing.T, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Typeflag: e.kind}
		if e.mode == 0 {
			h.Mode = 0o644
		}
		switch e.kind {
		case 0, tar.TypeReg:
			h.Typeflag, h.Size = tar.TypeReg, int64(len(e.text))
		default:
			h.Linkname = e.text
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(e.text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// built is an image of layers.
func built(t *testing.T, arch string, layers ...[]byte) v1.Image {
	t.Helper()
	img := empty.Image
	for _, l := range layers {
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(l)), nil })
		if err == nil {
			img, err = mutate.AppendLayers(img, layer)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture = "linux", arch
	c.Config = v1.Config{Entrypoint: []string{"/bin/server"}, Cmd: []string{"-p", "80"}, Env: []string{"A=b", "nonsense"}, WorkingDir: "srv"}
	if img, err = mutate.ConfigFile(img, c); err != nil {
		t.Fatal(err)
	}
	return img
}

// onDisk writes an image as a folder in the OCI layout.
func onDisk(t *testing.T, images ...v1.Image) string {
	t.Helper()
	var index v1.ImageIndex = empty.Index
	for _, img := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img})
	}
	at := filepath.Join(t.TempDir(), "layout")
	if _, err := layout.Write(at, index); err != nil {
		t.Fatal(err)
	}
	return at
}

// archived is a tar archive of a folder.
func archived(t *testing.T, from string) string {
	t.Helper()
	var entries []entry
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, err := os.ReadFile(filepath.Join(from, name))
			entries = append(entries, file("./"+name, string(text)))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return written(t, packed(t, entries))
}

func written(t *testing.T, text []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// unpacked unpacks an image into a new folder, beside which is a file that nobody may change.
func unpacked(t *testing.T, at string, bounds Bounds) (string, error) {
	t.Helper()
	beside := t.TempDir()
	into := filepath.Join(beside, "root")
	if err := errors.Join(os.Mkdir(into, 0o700), os.WriteFile(filepath.Join(beside, "secret"), []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	img, err := OpenFile(at)
	if err != nil {
		return into, err
	}
	defer img.Close()
	err = img.Unpack(t.Context(), into, nil, bounds)
	if text, e := os.ReadFile(filepath.Join(beside, "secret")); e != nil || string(text) != "secret" {
		t.Errorf("the file beside it is %q (%v)", text, e)
	}
	entries, e := os.ReadDir(beside)
	if e != nil || len(entries) != 2 {
		t.Errorf("%d files beside it (%v)", len(entries), e)
	}
	return into, err
}

// contents is what a folder holds, but for the folders that each root directory has.
func contents(t *testing.T, root string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err != nil || name == "." || slices.Contains(MountPoints(), name) {
			return err
		}
		switch {
		case d.IsDir():
			name += "/"
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			name += " -> " + to
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name += " " + string(text)
		}
		list = append(list, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var here = runtime.GOARCH

func TestTheSameImageInEveryFormIsTheSame(t *testing.T) {
	img := built(t, here, packed(t, []entry{file("a", "1"), file("b", "1")}), packed(t, []entry{file("a", "2"), file(".wh.b", "")}))
	other := built(t, "other", packed(t, []entry{file("a", "3")}))
	folder := onDisk(t, img)
	saved := filepath.Join(t.TempDir(), "saved.tar")
	if err := tarball.WriteToFile(saved, name.MustParseReference("web:1"), img); err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for form, at := range map[string]string{"folder": folder, "archive": archived(t, folder), "for several platforms": onDisk(t, other, img), "docker save": saved} {
		opened, err := OpenFile(at)
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		opened.Close()
		if form != "docker save" { // which has no manifest
			digests[opened.Digest] = true
		}
		if !slices.Equal(opened.Command, []string{"/bin/server", "-p", "80"}) || !slices.Equal(opened.Env, []string{"A=b"}) || opened.WorkDir != "/srv" {
			t.Errorf("%s: it says %q, %q, %q", form, opened.Command, opened.Env, opened.WorkDir)
		}
		root, err := unpacked(t, at, Usual)
		if got := contents(t, root); err != nil || !slices.Equal(got, []string{"a 2"}) {
			t.Errorf("%s: it holds %q (%v)", form, got, err)
		}
		for _, name := range MountPoints() {
			if info, err := os.Lstat(filepath.Join(root, name)); err != nil || !info.IsDir() {
				t.Errorf("%s: no folder %s (%v)", form, name, err)
			}
		}
	}
	if len(digests) != 1 {
		t.Errorf("digests: %v", digests)
	}
}

func TestLayersLieOneOverTheOther(t *testing.T) {
	for name, row := range map[string]struct {
		layers [][]entry
		want   []string
	}{
		"a file is replaced":             {[][]entry{{file("d/a", "1")}, {file("d/a", "2")}}, []string{"d/", "d/a 2"}},
		"a folder becomes a file":        {[][]entry{{file("d/a", "1")}, {file("d", "2")}}, []string{"d 2"}},
		"a file becomes a folder":        {[][]entry{{file("d", "1")}, {dir("d"), file("d/a", "2")}}, []string{"d/", "d/a 2"}},
		"a folder stays":                 {[][]entry{{file("d/a", "1")}, {dir("d")}}, []string{"d/", "d/a 1"}},
		"a whiteout removes a tree":      {[][]entry{{file("d/a/b", "1"), file("d/c", "1")}, {file("d/.wh.a", "")}}, []string{"d/", "d/c 1"}},
		"but nothing of its own layer":   {[][]entry{{file("d/a", "1")}, {file("d/a", "2"), file("d/.wh.a", "")}}, []string{"d/", "d/a 2"}},
		"an opaque folder hides":         {[][]entry{{file("d/a", "1")}, {file("d/b", "2"), file("d/.wh..wh..opq", "")}}, []string{"d/", "d/b 2"}},
		"in either order":                {[][]entry{{file("d/a", "1")}, {file("d/.wh..wh..opq", ""), file("d/b", "2")}}, []string{"d/", "d/b 2"}},
		"and in its folders":             {[][]entry{{file("d/e/a", "1")}, {file("d/e/b", "2"), file("d/.wh..wh..opq", "")}}, []string{"d/", "d/e/", "d/e/b 2"}},
		"a whiteout of nothing":          {[][]entry{{file("a", "1")}, {file("x/.wh.y", ""), file("z/.wh..wh..opq", "")}}, []string{"a 1"}},
		"through a link of the image":    {[][]entry{{dir("usr/lib"), symlink("lib", "/usr/lib")}, {file("lib/a", "2")}}, []string{"lib -> /usr/lib", "usr/", "usr/lib/", "usr/lib/a 2"}},
		"a link is replaced by a folder": {[][]entry{{dir("e"), symlink("d", "e")}, {dir("d"), file("d/a", "2")}}, []string{"d/", "d/a 2", "e/"}},
		"hard links":                     {[][]entry{{file("a", "1"), hardlink("b", "/a")}, {hardlink("c", "./a")}}, []string{"a 1", "b 1", "c 1"}},
		"devices and pipes are left out": {[][]entry{{entry{name: "mem", kind: tar.TypeChar}, entry{name: "sda", kind: tar.TypeBlock}, entry{name: "pipe", kind: tar.TypeFifo}, file("a", "1")}}, []string{"a 1"}},
	} {
		var layers [][]byte
		for _, l := range row.layers {
			layers = append(layers, packed(t, l))
		}
		root, err := unpacked(t, onDisk(t, built(t, here, layers...)), Usual)
		if got := contents(t, root); err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%s: %q (%v), want %q", name, got, err, row.want)
		}
	}
}

// Whatever a layer says, nothing outside of the folder is read, written or removed, and nobody
// gains rights.
func TestNoLayerLeadsOutOfTheImage(t *testing.T) {
	for name, row := range map[string]struct {
		layers []entry
		why    string // "": it is unpacked, inside
	}{
		"a path upwards":                 {[]entry{file("../secret", "x")}, "leads out"},
		"one that ends there":            {[]entry{dir("..")}, "leads out"},
		"in the middle":                  {[]entry{file("d/../../secret", "x")}, "leads out"},
		"an absolute path":               {[]entry{file("/a", "x")}, ""},
		"a link upwards":                 {[]entry{symlink("up", ".."), file("up/secret", "x")}, ""},
		"many of them":                   {[]entry{symlink("up", "../../../../../../../../../../.."), file("up/secret", "x"), file("up/root/x", "x")}, ""},
		"an absolute link":               {[]entry{symlink("abs", "/"), file("abs/secret", "x")}, ""},
		"a link to a link":               {[]entry{symlink("a", ".."), symlink("b", "a/.."), file("b/secret", "x")}, ""},
		"over a link":                    {[]entry{symlink("s", "../secret"), file("s", "x")}, ""},
		"a hard link upwards":            {[]entry{hardlink("s", "../secret")}, "leads out"},
		"through a link":                 {[]entry{symlink("up", ".."), hardlink("s", "up/secret")}, "no such file"},
		"to a link":                      {[]entry{symlink("l", "../secret"), hardlink("s", "l"), file("s", "x")}, ""},
		"a whiteout upwards":             {[]entry{file("../.wh.secret", "")}, "leads out"},
		"through a link upwards":         {[]entry{symlink("up", ".."), file("up/.wh.secret", ""), file("up/.wh..wh..opq", "")}, ""},
		"of the folder above":            {[]entry{file("d/.wh...", "")}, "removes no file"},
		"of the folder itself":           {[]entry{file("d/.wh..", "")}, "removes no file"},
		"a loop of links":                {[]entry{symlink("a", "b"), symlink("b", "a"), file("a/x", "x")}, "too many"},
		"an unknown kind":                {[]entry{{name: "x", kind: 'Z'}}, "unknown kind"},
		"a link in place of the devices": {[]entry{symlink("dev", "../.."), symlink("proc", "/etc"), symlink("etc", "/"), symlink("tmp", "..")}, ""},
		"rights":                         {[]entry{{name: "su", text: "x", mode: 0o6755}}, ""},
	} {
		root, err := unpacked(t, onDisk(t, built(t, here, packed(t, row.layers))), Usual)
		if (err == nil) != (row.why == "") || err != nil && !strings.Contains(err.Error(), row.why) {
			t.Errorf("%s: %v, want %q", name, err, row.why)
		}
		if err != nil {
			continue
		}
		for _, point := range MountPoints() {
			if info, err := os.Lstat(filepath.Join(root, point)); err != nil || !info.IsDir() {
				t.Errorf("%s: %s is no folder (%v)", name, point, err)
			}
		}
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if info, e := d.Info(); err == nil && e == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				t.Errorf("%s: %s has %v", name, path, info.Mode())
			}
			return nil
		})
	}
}

func TestSizesAreBounded(t *testing.T) {
	small := Bounds{Bytes: 100_000, Files: 10, Depth: 5}
	zeros := strings.Repeat("\x00", 1<<20)
	many := make([]entry, 0, 20)
	for range cap(many) {
		many = append(many, file("a", ""))
	}
	padded := append(packed(t, []entry{file("a", "x")}), zeros...)
	for name, row := range map[string]struct {
		layers [][]byte
		large  bool
	}{
		"small":                   {[][]byte{packed(t, []entry{file("a/b/c/d/e", "x")})}, false},
		"one large file":          {[][]byte{packed(t, []entry{file("a", zeros)})}, true},
		"the same again":          {[][]byte{packed(t, []entry{file("a", zeros[:60_000])}), packed(t, []entry{file("a", zeros[:60_000])})}, true},
		"many files":              {[][]byte{packed(t, many)}, true},
		"deep folders":            {[][]byte{packed(t, []entry{dir("a/b/c/d/e/f")})}, true},
		"behind the last file":    {[][]byte{padded}, true},
		"a long name of a header": {[][]byte{packed(t, []entry{file(strings.Repeat("x", 200_000), "")})}, true},
	} {
		_, err := unpacked(t, onDisk(t, built(t, here, row.layers...)), small)
		if errors.Is(err, ErrTooLarge) != row.large || err != nil && !row.large {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What does not have the digest that it is named by is refused, wherever it is.
func TestDamageIsFound(t *testing.T) {
	good := onDisk(t, built(t, here, packed(t, []entry{file("a", "1")})))
	blobs, err := filepath.Glob(filepath.Join(good, "blobs/sha256/*"))
	if err != nil || len(blobs) != 3 {
		t.Fatal(blobs, err)
	}
	for _, name := range blobs {
		was, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var other bytes.Buffer // another layer, where it is one
		w := gzip.NewWriter(&other)
		_, _ = w.Write(packed(t, []entry{file("a", "2")}))
		w.Close()
		for kind, now := range map[string][]byte{"other": other.Bytes(), "cut": was[:len(was)/2], "empty": nil} {
			if err := os.WriteFile(name, now, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := unpacked(t, good, Usual); err == nil {
				t.Errorf("%s is %s, and nobody notices", name, kind)
			}
		}
		if err := errors.Join(os.Remove(name), os.Symlink("/etc/passwd", name)); err != nil {
			t.Fatal(err)
		}
		if _, err := unpacked(t, good, Usual); err == nil {
			t.Errorf("%s is elsewhere, and nobody notices", name)
		}
		if err := errors.Join(os.Remove(name), os.WriteFile(name, was, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := unpacked(t, good, Usual); err != nil {
		t.Errorf("undamaged: %v", err)
	}
}

func TestOtherPlatformsAreNamed(t *testing.T) {
	_, err := OpenFile(onDisk(t, built(t, "other"), built(t, "another")))
	if other := new(PlatformError); !errors.As(err, &other) || !slices.Equal(other.Has, []string{"linux/another", "linux/other"}) {
		t.Errorf("%v", err)
	}
	_, err = OpenFile(onDisk(t, built(t, here, packed(t, []entry{file("a", "1")})), built(t, here, packed(t, []entry{file("a", "2")}))))
	if err == nil || !strings.Contains(err.Error(), "2 images") {
		t.Errorf("two for this one: %v", err)
	}
}

func TestCompressedArchivesAreNamed(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(packed(t, []entry{file("index.json", "{}")}))
	w.Close()
	if _, err := OpenFile(written(t, b.Bytes())); err == nil || !strings.Contains(err.Error(), "decompress") {
		t.Errorf("%v", err)
	}
}
