package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

const (
	// maxText bounds an index, a manifest or a configuration, in bytes.
	maxText = 4 << 20
	// maxParts bounds the files of an archive: layers and what describes them.
	maxParts = 4096
)

// files are the parts of an image, by their paths in its folder or archive.
type files interface {
	// open opens a regular file; fs.ErrNotExist: there is none of that path.
	open(name string) (io.ReadCloser, error)
	Close() error
}

// folder is a layout on disk. No link leads out of it.
type folder struct{ *os.Root }

func (f folder) open(name string) (io.ReadCloser, error) { return openRegular(f.Root, name) }

// openRegular opens a file without waiting: a pipe would wait for its other end.
func openRegular(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", name))
	}
	return file, nil
}

// archive is a tar file that stays open: what it holds is read from its place in it.
type archive struct {
	*os.File
	parts map[string]part
}

type part struct{ offset, size int64 }

// list finds the files of an archive.
func list(file *os.File) (*archive, error) {
	magic := make([]byte, 4)
	if _, err := file.ReadAt(magic, 0); err == nil && (bytes.HasPrefix(magic, []byte("\x1f\x8b")) || bytes.Equal(magic, []byte("\x28\xb5\x2f\xfd"))) {
		return nil, errors.New("the archive is compressed as a whole: decompress it first")
	}
	a := &archive{file, map[string]part{}}
	for r := tar.NewReader(file); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return a, nil
		case err != nil && len(a.parts) == 0:
			return nil, fmt.Errorf("%w: neither a folder nor a tar archive", ErrNoImage)
		case err != nil:
			return nil, err
		case h.Typeflag != tar.TypeReg:
			continue
		case len(a.parts) == maxParts:
			return nil, fmt.Errorf("more than %d files in the archive", maxParts)
		}
		at, err := file.Seek(0, io.SeekCurrent) // the reader takes no more than the header
		if err != nil {
			return nil, err
		}
		a.parts[path.Clean(h.Name)] = part{at, h.Size}
	}
}

func (a *archive) open(name string) (io.ReadCloser, error) {
	p, ok := a.parts[path.Clean(name)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(io.NewSectionReader(a.File, p.offset, p.size)), nil
}

// text is a small file as a whole.
func text(f files, name string) ([]byte, error) {
	r, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err == nil && len(all) > maxText {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxText)
	}
	return all, err
}
