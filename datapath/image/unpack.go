package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// maxLayers bounds the layers of an image.
const maxLayers = 128

// Bounds are what an image may hold.
type Bounds struct {
	Bytes int64 // in its files, and of its layers decompressed
	Files int   // entries of its layers
	Depth int   // folders in each other
}

// Usual are bounds that the images of servers keep to by far.
var Usual = Bounds{Bytes: 4 << 30, Files: 400_000, Depth: 100}

// Owner maps the user or group that a file has in the image to one of this machine.
type Owner func(id int) int

// Unpack writes the files of an image into a folder that is empty and that nobody else
// changes. What is written belongs to owners; nil: to the caller. There are no devices, and no
// file that gives rights to whoever runs it. The folders that a root directory needs are there
// (see MountPoints). After an error the folder holds a part of the image.
func (img *Image) Unpack(ctx context.Context, dir string, owner Owner, bounds Bounds) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	u := &unpacker{ctx: ctx, dir: dir, root: root, owner: owner, left: bounds}
	for i, l := range img.layers {
		if err := u.unpack(img, l); err != nil {
			return fmt.Errorf("layer %d of %d: %w", i+1, len(img.layers), err)
		}
	}
	return u.furnish()
}

// unpacker unpacks one image.
type unpacker struct {
	ctx   context.Context
	dir   string // the path of root
	root  *os.Root
	owner Owner
	left  Bounds
	// written are the paths of the layer that is unpacked now, with the folders above them:
	// whiteouts are for the layers below it.
	written map[string]bool
}

// unpack applies a layer, and compares it with its digest.
func (u *unpacker) unpack(img *Image, l layer) error {
	content, err := img.contents(l)
	if err != nil {
		return err
	}
	defer content.Close()
	hash, err := v1.Hasher(l.diffID.Algorithm)
	if err != nil {
		return err
	}
	// The end of the archive may come before that of the layer, whose digest is of both.
	stream := io.TeeReader(&limited{u.ctx, content, u.left.Bytes}, hash)
	u.written = map[string]bool{}
	if err := u.apply(stream); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return err
	}
	if have := fmt.Sprintf("%s:%x", l.diffID.Algorithm, hash.Sum(nil)); have != l.diffID.String() {
		return &DigestError{l.diffID.String(), have}
	}
	return nil
}

// ErrTooLarge means that an image exceeds the bounds.
var ErrTooLarge = errors.New("the image is too large")

// limited reads at most so much.
type limited struct {
	ctx  context.Context
	from io.Reader
	left int64
}

func (r *limited) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, fmt.Errorf("%w: its layers hold too many bytes", ErrTooLarge)
	}
	return n, err
}

// stored is a layer as it is on disk.
type stored struct {
	layer
	content io.ReadCloser
}

func (s stored) Digest() (v1.Hash, error)            { return s.diffID, nil }
func (s stored) Compressed() (io.ReadCloser, error)  { return s.content, nil }
func (s stored) Size() (int64, error)                { return 0, nil }
func (s stored) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// decompressed decompresses a layer, by how it begins: gzip, zstd, or not at all.
func decompressed(l layer, content io.ReadCloser) (io.ReadCloser, error) {
	found, err := partial.CompressedToLayer(stored{l, content})
	if err != nil {
		content.Close()
		return nil, err
	}
	return found.Uncompressed()
}

// MountPoints are the folders of a root directory for what the machine gives to programs.
func MountPoints() []string { return []string{"dev", "etc", "proc", "run", "sys", "tmp"} }

// furnish makes folders of what images leave out, or have as something else.
func (u *unpacker) furnish() error {
	if err := u.root.Chmod(".", 0o755); err != nil {
		return err
	}
	for _, name := range MountPoints() {
		info, err := u.root.Lstat(name)
		if err != nil || !info.IsDir() {
			if err := errors.Join(u.root.RemoveAll(name), u.folder(name)); err != nil {
				return err
			}
		}
	}
	if err := u.own(".", 0, 0); err != nil {
		return err
	}
	return u.root.Chmod("tmp", 0o777|os.ModeSticky)
}

// folder makes a folder, and those above it.
func (u *unpacker) folder(name string) error {
	if info, err := u.root.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	if err := u.root.Mkdir(name, 0o755); err != nil {
		return err
	}
	return u.own(name, 0, 0)
}

// own gives a file to whom it belongs in the image.
func (u *unpacker) own(name string, user, group int) error {
	if u.owner == nil {
		return nil
	}
	return u.root.Lchown(name, u.owner(user), u.owner(group))
}
