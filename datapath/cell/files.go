//go:build linux

package cell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/occupant"
	"golang.org/x/sys/unix"
)

// Files gives the calling thread, which has its own mount namespace, an empty /run, and a
// root directory with the files. Such a directory is on a tmpfs, and so are all on the path
// of a file; what else they hold on the machine is bound into them. What is new belongs to
// the owner. It returns the paths of what the machine does not have: folders, and files in
// folders that it has.
func Files(files []occupant.File, owner int) (own []string, err error) {
	const root = "/run" // where the new root directory is mounted until it is that
	if err := tmpfs(root, owner); err != nil || len(files) == 0 {
		return nil, err
	}
	paths, special := make([]string, len(files)), map[string]bool{root: true}
	for i, f := range files {
		path, err := resolved(f.Path)
		if err != nil {
			return nil, err
		}
		paths[i], special[path] = path, true
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			special[dir] = true
		}
	}
	if err := shadow(root, "/", special); err != nil {
		return nil, err
	}
	if err := makeAll(root+root, owner); err != nil {
		return nil, err
	}
	for i, f := range files {
		first, err := place(root, paths[i], f, owner)
		if err != nil {
			return nil, err
		}
		own = append(own, first)
	}
	slices.Sort(own)
	return slices.Compact(own), turnTo(root)
}

// tmpfs mounts private memory that belongs to an owner.
func tmpfs(at string, owner int) error {
	options := fmt.Sprintf("mode=755,size=%s,nr_inodes=%s,uid=%d,gid=%d", maxTmpfs, maxInodes, owner, owner)
	if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount a tmpfs on %s: %w", at, err)
	}
	return nil
}

// turnTo makes a mount point the root directory, and forgets the former one.
func turnTo(root string) error {
	// pivot_root(2): both directories may be the same, and the old root is then on top.
	if err := errors.Join(unix.Chdir(root), unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH), unix.Chdir("/")); err != nil {
		return fmt.Errorf("change the root directory: %w", err)
	}
	return nil
}

// place writes a file below a root, and returns the first part of its path that was not
// there.
func place(root, path string, f occupant.File, owner int) (first string, err error) {
	first = path
	for dir := filepath.Dir(path); !isDir(root + dir); dir = filepath.Dir(dir) {
		first = dir
	}
	if err := makeAll(root+filepath.Dir(path), owner); err != nil {
		return "", err
	}
	if f.Of != "" {
		if err := bind(f.Of, root+path, false); err != nil {
			return "", err
		}
		return first, protect(root + path)
	}
	if err := os.WriteFile(root+path, []byte(f.Content), 0o600); err != nil {
		return "", err
	}
	return first, errors.Join(os.Lchown(root+path, owner, owner), unix.Chmod(root+path, f.Mode)) // whatever the umask is
}

// makeAll makes a folder, and those above it, for an owner.
func makeAll(dir string, owner int) error {
	if isDir(dir) {
		return nil
	}
	if err := makeAll(filepath.Dir(dir), owner); err != nil {
		return err
	}
	return errors.Join(os.Mkdir(dir, 0o755), os.Lchown(dir, owner, owner), os.Chmod(dir, 0o755))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// resolved is a path without symbolic links in those of its folders that exist.
func resolved(path string) (string, error) {
	dir, rest := filepath.Split(path)
	for {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		dir, rest = filepath.Dir(strings.TrimSuffix(dir, "/")), filepath.Join(filepath.Base(dir), rest)
	}
}

// shadow fills a folder below a root with what the machine has there: links are copied, all
// else is bound. What is special is left out; a special folder is filled in the same way.
func shadow(root, dir string, special map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		from := filepath.Join(dir, e.Name())
		to := root + from
		switch {
		case from == root, special[from] && !e.IsDir():
		case special[from]:
			info, err := e.Info()
			if err != nil {
				return err
			}
			if err := errors.Join(os.Mkdir(to, 0o700), os.Chmod(to, info.Mode()), shadow(root, from, special)); err != nil {
				return err
			}
		default:
			if err := mirror(from, to, e.Type()); err != nil {
				return err
			}
		}
	}
	return nil
}

// mirror makes a file or folder visible in another place; a link is copied.
func mirror(from, to string, mode fs.FileMode) error {
	if mode.Type() != fs.ModeSymlink {
		return bind(from, to, mode.IsDir())
	}
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// bind makes a file or folder, with all that is mounted in it, visible in another place.
func bind(from, to string, isDir bool) error {
	var err error
	if isDir {
		err = os.Mkdir(to, 0o755)
	} else {
		err = os.WriteFile(to, nil, 0o600)
	}
	if err != nil {
		return err
	}
	return bindOver(from, to)
}

// bindOver makes it visible in the place of another.
func bindOver(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("bind %s: %w", from, err)
	}
	return nil
}
