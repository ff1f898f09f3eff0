package vm

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// pack writes files and folders into a tar archive; missing ones are left out.
func pack(w io.Writer, names []string) error {
	archive := tar.NewWriter(w)
	for _, name := range names {
		err := filepath.WalkDir(name, func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			return packOne(archive, p, d)
		})
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

func packOne(archive *tar.Writer, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return err
	}
	header, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	header.Name = strings.TrimPrefix(name, "/")
	if err := archive.WriteHeader(header); err != nil || info.IsDir() {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	// A file that grows while being read must not break the archive.
	_, err = io.Copy(archive, io.LimitReader(f, header.Size))
	return err
}

// unpack writes the files of a tar archive below a folder, and never elsewhere.
func unpack(r io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o777)
		case tar.TypeReg:
			err = unpackFile(root, name, archive)
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	return fill(f, content)
}

// bringBack copies what was unpacked below a folder to its original paths.
func bringBack(dir string, names []string) error {
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(dir, name), func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // the guest did not create it
			}
			if err != nil {
				return err
			}
			to := strings.TrimPrefix(p, dir)
			if d.IsDir() {
				return os.MkdirAll(to, 0o777)
			}
			return copyFile(to, p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	return fill(out, in)
}

// fill writes a file and closes it.
func fill(f *os.File, content io.Reader) error {
	_, err := io.Copy(f, content)
	return errors.Join(err, f.Close())
}
