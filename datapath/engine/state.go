//go:build linux

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrRunning means that a lab of that name is already running.
var ErrRunning = errors.New("a lab of that name is running")

// ErrNotRunning means that there is no such lab.
var ErrNotRunning = errors.New("no such lab is running")

// The files of a lab's folder.
const (
	socketFile = "control"
	planFile   = "plan"
	logFile    = "log"
	pidFile    = "pids"
)

// StateDir is where the folders of this user's labs are: /run/netlab-lab for root,
// $XDG_RUNTIME_DIR/netlab-lab for others. Without XDG_RUNTIME_DIR it is systemd's
// default path, or a folder of the user's own in the temporary directory.
func StateDir() string {
	uid := os.Getuid()
	if uid == 0 {
		return "/run/netlab-lab"
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "netlab-lab")
	}
	if dir := filepath.Join("/run/user", strconv.Itoa(uid)); isDir(dir) {
		return filepath.Join(dir, "netlab-lab")
	}
	return filepath.Join(os.TempDir(), "netlab-lab-"+strconv.Itoa(uid))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// folder is the open and locked folder of one lab. The lock belongs to the open file
// description, which the engine inherits.
type folder struct {
	name  string
	above *os.File // the parent of the state directory
	root  *os.File // the state directory
	dir   *os.File
}

// claim creates and locks the folder of a lab, or takes over an unlocked one. It
// returns ErrRunning if the lab is running.
func claim(name string) (*folder, error) {
	// Another process may remove the empty state directory between any two steps.
	for try := 0; ; try++ {
		f, err := tryClaim(name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || try == 100 {
			return f, err
		}
	}
}

func tryClaim(name string) (*folder, error) {
	root := StateDir()
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if err := ownedByUs(root); err != nil {
		return nil, err
	}
	err := os.Mkdir(filepath.Join(root, name), 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		_ = unix.Rmdir(root)
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	f, err := openFolder(name)
	if err != nil {
		return nil, err
	}
	if !f.lock(unix.LOCK_EX | unix.LOCK_NB) {
		f.close()
		return nil, ErrRunning
	}
	if !f.current() {
		f.close()
		return nil, fs.ErrNotExist // removed by its last owner just now
	}
	f.empty()
	return f, nil
}

// ownedByUs refuses a state directory prepared by another user.
func ownedByUs(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("%w: %w", ErrState, &fs.PathError{Op: "lstat", Path: path, Err: err})
	}
	if int(st.Uid) != os.Getuid() || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fmt.Errorf("%w: %s does not belong to you; set XDG_RUNTIME_DIR to a folder of your own", ErrState, path)
	}
	return nil
}

func openFolder(name string) (*folder, error) {
	var opened [3]*os.File
	for i, path := range []string{filepath.Dir(StateDir()), StateDir(), filepath.Join(StateDir(), name)} {
		file, err := os.Open(path)
		if err != nil {
			for _, o := range opened[:i] {
				o.Close()
			}
			return nil, fmt.Errorf("%w: %w", ErrState, err)
		}
		opened[i] = file
	}
	return &folder{name: name, above: opened[0], root: opened[1], dir: opened[2]}, nil
}

func (f *folder) lock(how int) bool {
	for {
		err := unix.Flock(int(f.dir.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// current reports whether the open folder is still the one with its name.
func (f *folder) current() bool {
	var open, named unix.Stat_t
	return unix.Fstat(int(f.dir.Fd()), &open) == nil &&
		unix.Fstatat(int(f.root.Fd()), f.name, &named, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		open.Ino == named.Ino && open.Dev == named.Dev
}

func (f *folder) empty() {
	for _, file := range []string{socketFile, planFile, planFile + ".new", logFile, pidFile} {
		f.unlink(file)
	}
}

// remove deletes the folder, and the state directory if it was the last one. It works
// through descriptors, since the engine has mounted over /run. The caller holds the
// lock. Who removed the folder before may have been killed before it came to the directory.
func (f *folder) remove() {
	if f.current() {
		f.empty()
		_ = unix.Unlinkat(int(f.root.Fd()), f.name, unix.AT_REMOVEDIR)
	}
	// Not with StateDir: an ordinary user's engine is root in its own namespace.
	if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.root.Fd())); err == nil {
		_ = unix.Unlinkat(int(f.above.Fd()), filepath.Base(path), unix.AT_REMOVEDIR)
	}
}

func (f *folder) close() {
	f.dir.Close()
	f.root.Close()
	f.above.Close()
}

// files are the descriptors that make up the folder, for a child to inherit.
func (f *folder) files() []*os.File { return []*os.File{f.above, f.root, f.dir} }

// path names a file in the folder, short enough for a socket address (108 bytes)
// wherever the state directory is.
func (f *folder) path(file string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.dir.Fd(), file)
}

// write puts a small file into the folder.
func (f *folder) write(file, text string) error {
	out, err := os.OpenFile(f.path(file), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = out.WriteString(text)
		err = cmp.Or(err, out.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: %s/%s: %w", ErrState, f.name, file, errors.Unwrap(err))
	}
	return nil
}

func (f *folder) rename(from, to string) {
	_ = unix.Renameat(int(f.dir.Fd()), from, int(f.dir.Fd()), to)
}

func (f *folder) unlink(file string) { _ = unix.Unlinkat(int(f.dir.Fd()), file, 0) }

// List returns the names of this user's running labs, sorted, and removes the
// folders of labs that no longer run.
func List() ([]string, error) {
	entries, err := os.ReadDir(StateDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !sweep(e.Name()) {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	return names, nil
}

// sweep removes the folder of a lab that is not running, and reports whether it did.
func sweep(name string) bool {
	f, err := openFolder(name)
	if err != nil {
		return true
	}
	defer f.close()
	if !f.lock(unix.LOCK_EX | unix.LOCK_NB) {
		return false
	}
	f.remove()
	return true
}
