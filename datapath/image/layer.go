package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// Names that remove what is below (github.com/opencontainers/image-spec, layer.md).
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
	reserved = ".wh..wh." // of union file systems, for themselves
)

// apply writes the entries of a layer.
func (u *unpacker) apply(stream io.Reader) error {
	for r := tar.NewReader(stream); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if u.left.Files--; u.left.Files < 0 {
			return fmt.Errorf("%w: its layers hold too many files", ErrTooLarge)
		}
		if err := u.entry(h, r); err != nil {
			return fmt.Errorf("%q: %w", h.Name, err)
		}
	}
}

// entry writes one entry.
func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := u.local(h.Name)
	if err != nil {
		return err
	}
	if name == "." {
		return u.root.Chmod(name, 0o755) // it is ours, whatever the layer says
	}
	if name, err = u.real(name); err != nil {
		return err
	}
	dir, base := path.Dir(name), path.Base(name)
	switch {
	case base == opaque:
		return u.clear(dir)
	case strings.HasPrefix(base, reserved):
		return nil
	case strings.HasPrefix(base, whiteout):
		return u.remove(dir, strings.TrimPrefix(base, whiteout))
	}
	if err := u.folder(dir); err != nil {
		return err
	}
	for p := name; p != "."; p = path.Dir(p) {
		u.written[p] = true
	}
	return u.write(name, h, content)
}

// local is the path of an entry from the root directory.
func (u *unpacker) local(name string) (string, error) {
	name = path.Clean(strings.TrimLeft(name, "/"))
	if !filepath.IsLocal(name) {
		return "", errors.New("it leads out of the image")
	}
	if strings.Count(name, "/") >= u.left.Depth {
		return "", fmt.Errorf("%w: more than %d folders in each other", ErrTooLarge, u.left.Depth)
	}
	return name, nil
}

// real is a path whose folders are no links. They are followed as in a root directory of
// their own, so that /usr is the image's.
func (u *unpacker) real(name string) (string, error) {
	dir, err := securejoin.SecureJoin(u.dir, path.Dir(name))
	if err != nil {
		return "", err
	}
	dir, err = filepath.Rel(u.dir, dir)
	return path.Join(filepath.ToSlash(dir), path.Base(name)), err
}

// remove removes a file or folder of the layers below.
func (u *unpacker) remove(dir, base string) error {
	if base == "" || base == "." || base == ".." {
		return errors.New("it removes no file")
	}
	name := path.Join(dir, base)
	if u.written[name] {
		return nil
	}
	return u.root.RemoveAll(name)
}

// clear empties a folder of what the layers below left there.
func (u *unpacker) clear(dir string) error {
	entries, err := fs.ReadDir(u.root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case !u.written[name]:
			err = errors.Join(err, u.root.RemoveAll(name))
		case e.IsDir():
			err = errors.Join(err, u.clear(name))
		}
	}
	return err
}

// write makes a file of any kind, in place of what was there.
func (u *unpacker) write(name string, h *tar.Header, content io.Reader) error {
	info, err := u.root.Lstat(name)
	there := err == nil && info.IsDir() && h.Typeflag == tar.TypeDir
	if err == nil && !there {
		if err := u.root.RemoveAll(name); err != nil {
			return err
		}
	}
	mode := fs.FileMode(h.Mode) & fs.ModePerm // nobody gains rights by running it
	switch h.Typeflag {
	case tar.TypeDir:
		if !there {
			if err := u.root.Mkdir(name, 0o700); err != nil {
				return err
			}
		}
		if h.Mode&0o1000 != 0 {
			mode |= os.ModeSticky
		}
	case tar.TypeReg:
		if err := u.file(name, h.Size, content); err != nil {
			return err
		}
	case tar.TypeSymlink:
		if err := u.root.Symlink(h.Linkname, name); err != nil {
			return err
		}
		return u.own(name, h.Uid, h.Gid)
	case tar.TypeLink:
		return u.link(name, h.Linkname)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return nil // pods have the devices that they may use
	default:
		return fmt.Errorf("an unknown kind of file: %q", h.Typeflag)
	}
	if err := u.own(name, h.Uid, h.Gid); err != nil {
		return err
	}
	return errors.Join(u.root.Chmod(name, mode), u.root.Chtimes(name, h.ModTime, h.ModTime))
}

// link makes another name of a file of the image.
func (u *unpacker) link(name, target string) error {
	to, err := u.local(target)
	if err == nil {
		to, err = u.real(to)
	}
	if err != nil {
		return fmt.Errorf("link to %q: %w", target, err)
	}
	return u.root.Link(to, name)
}

// file writes a regular file.
func (u *unpacker) file(name string, size int64, content io.Reader) error {
	if u.left.Bytes -= size; u.left.Bytes < 0 {
		return fmt.Errorf("%w: its files hold too many bytes", ErrTooLarge)
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
