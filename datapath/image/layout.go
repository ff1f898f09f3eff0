package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Image is an image on disk, for Linux on this machine's processor. Close closes it.
type Image struct {
	// Digest is that of its manifest, or, without one, of its configuration: sha256:….
	Digest string
	// What the image says of its program.
	Command []string // the entrypoint with its arguments; empty: it has none
	Env     []string // KEY=value
	WorkDir string   // empty: the root directory

	files  files
	layers []layer
}

// layer is an archive of files; one over the other they are the root directory.
type layer struct {
	path   string  // in the folder or archive
	diffID v1.Hash // of what is in it, decompressed
}

// ErrNoImage means that a file or folder is something else.
var ErrNoImage = errors.New("not a container image")

// PlatformError means that an image is for other machines.
type PlatformError struct{ Has []string }

func (e *PlatformError) Error() string {
	return fmt.Sprintf("it is for %s, and this machine is linux/%s", strings.Join(e.Has, ", "), runtime.GOARCH)
}

// Open opens the image at a path below a folder, out of which no link leads.
func Open(root *os.Root, name string) (*Image, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	var f files
	if info.IsDir() {
		sub, err := root.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		f = folder{sub}
	} else {
		file, err := openRegular(root, name)
		if err != nil {
			return nil, err
		}
		if f, err = list(file); err != nil {
			file.Close()
			return nil, err
		}
	}
	img, err := read(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return img, nil
}

// OpenFile opens the image at a path.
func OpenFile(name string) (*Image, error) {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return Open(root, filepath.Base(name))
}

// Close closes the image.
func (img *Image) Close() error { return img.files.Close() }

func read(f files) (*Image, error) {
	index, err := text(f, "index.json")
	if err == nil {
		return readLayout(f, index)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	saved, err := text(f, "manifest.json")
	if err == nil {
		return readSaved(f, saved)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: it has neither the index.json of OCI images nor the manifest.json of docker save", ErrNoImage)
	}
	return nil, err
}

// maxNested bounds indexes in indexes.
const maxNested = 4

// readLayout reads an OCI layout.
func readLayout(f files, src []byte) (*Image, error) {
	found := finder{files: f, images: map[v1.Hash]*Image{}}
	if err := found.index(src, 1); err != nil {
		return nil, err
	}
	switch {
	case len(found.images) > 1:
		return nil, fmt.Errorf("it has %d images: keep one of them", len(found.images))
	case len(found.images) == 0 && len(found.others) > 0:
		slices.Sort(found.others)
		return nil, &PlatformError{slices.Compact(found.others)}
	}
	for _, img := range found.images {
		return img, nil
	}
	return nil, fmt.Errorf("%w: its index names none", ErrNoImage)
}

// finder gathers the images for this machine.
type finder struct {
	files  files
	images map[v1.Hash]*Image
	others []string // platforms
	read   int      // manifests
}

func (x *finder) index(src []byte, depth int) error {
	index, err := v1.ParseIndexManifest(bytes.NewReader(src))
	if err != nil {
		return fmt.Errorf("%w: it has no valid index", ErrNoImage) // and nothing of the file is quoted
	}
	for _, d := range index.Manifests {
		if x.read++; x.read > maxParts {
			return fmt.Errorf("more than %d manifests", maxParts)
		}
		if p := d.Platform; p != nil && p.OS == "unknown" {
			continue // about an image, not one: an attestation
		}
		if d.Platform != nil && !fits(d.Platform.OS, d.Platform.Architecture) {
			x.others = append(x.others, d.Platform.String())
			continue
		}
		switch {
		case d.MediaType.IsIndex():
			if depth == maxNested {
				return fmt.Errorf("indexes nest deeper than %d", maxNested)
			}
			src, err := blob(x.files, d.Digest)
			if err == nil {
				err = x.index(src, depth+1)
			}
			if err != nil {
				return err
			}
		case d.MediaType.IsImage() || d.MediaType == "":
			if err := x.image(d.Digest); err != nil {
				return err
			}
		}
	}
	return nil
}

// image reads an image by the digest of its manifest.
func (x *finder) image(digest v1.Hash) error {
	src, err := blob(x.files, digest)
	if err != nil {
		return err
	}
	m, err := v1.ParseManifest(bytes.NewReader(src))
	if err != nil {
		return fmt.Errorf("%w: %s is no valid manifest", ErrNoImage, digest)
	}
	src, err = blob(x.files, m.Config.Digest)
	if err != nil {
		return err
	}
	paths := make([]string, len(m.Layers))
	for i, l := range m.Layers {
		paths[i] = blobPath(l.Digest)
	}
	img, err := build(x.files, digest, src, paths)
	if other := new(PlatformError); errors.As(err, &other) {
		x.others = append(x.others, other.Has...)
		return nil
	}
	if err != nil {
		return err
	}
	x.images[digest] = img
	return nil
}

// readSaved reads an archive of docker save, as it was before it had an OCI layout
// (github.com/moby/docker-image-spec).
func readSaved(f files, src []byte) (*Image, error) {
	var saved []struct {
		Config string
		Layers []string
	}
	if err := json.Unmarshal(src, &saved); err != nil {
		return nil, fmt.Errorf("%w: its manifest.json is not valid", ErrNoImage)
	}
	if len(saved) != 1 {
		return nil, fmt.Errorf("it has %d images: save one", len(saved))
	}
	config, err := text(f, saved[0].Config)
	if err != nil {
		return nil, err
	}
	digest, _, err := v1.SHA256(bytes.NewReader(config))
	if err != nil {
		return nil, err
	}
	return build(f, digest, config, saved[0].Layers)
}

// build makes an image of its configuration and the paths of its layers.
func build(f files, digest v1.Hash, config []byte, paths []string) (*Image, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(config))
	if err != nil {
		return nil, fmt.Errorf("%w: its configuration is not valid", ErrNoImage)
	}
	if !fits(c.OS, c.Architecture) {
		return nil, &PlatformError{[]string{c.OS + "/" + c.Architecture}}
	}
	if len(c.RootFS.DiffIDs) != len(paths) || len(paths) > maxLayers {
		return nil, fmt.Errorf("it has %d layers, and names %d; there may be %d", len(paths), len(c.RootFS.DiffIDs), maxLayers)
	}
	img := &Image{Digest: digest.String(), Command: slices.Concat(c.Config.Entrypoint, c.Config.Cmd), WorkDir: c.Config.WorkingDir, files: f}
	for _, v := range c.Config.Env {
		if name, _, ok := strings.Cut(v, "="); ok && name != "" && !strings.Contains(v, "\x00") {
			img.Env = append(img.Env, v)
		}
	}
	if img.WorkDir != "" {
		img.WorkDir = path.Join("/", img.WorkDir)
	}
	for i, p := range paths {
		img.layers = append(img.layers, layer{p, c.RootFS.DiffIDs[i]})
	}
	return img, nil
}

func fits(os, arch string) bool { return os == "linux" && arch == runtime.GOARCH }

func blobPath(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }

// blob is a small part with a digest.
func blob(f files, digest v1.Hash) ([]byte, error) {
	src, err := text(f, blobPath(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the image is damaged: %s is missing", digest)
	}
	if err != nil {
		return nil, err
	}
	got, _, err := v1.SHA256(bytes.NewReader(src))
	if err == nil && got != digest {
		err = &DigestError{digest.String(), got.String()}
	}
	return src, err
}

// DigestError means that a part of an image is not what it is named.
type DigestError struct{ Want, Have string }

func (e *DigestError) Error() string {
	return fmt.Sprintf("the image is damaged: %s has the digest %s", e.Want, e.Have)
}

// contents is what is in a layer, decompressed. Closing it ends the reading.
func (img *Image) contents(l layer) (io.ReadCloser, error) {
	r, err := img.files.open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the image is damaged: %s is missing", l.path)
	}
	if err != nil {
		return nil, err
	}
	return decompressed(l, r)
}
