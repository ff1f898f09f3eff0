//go:build linux

package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// A program of the scenario runs in a cell: the network namespace of its pod, and a mount
// namespace of its own with the files of the pod. This file is the only place where such a
// process is set up.

// cell is the mount namespace of a program that was started.
type cell struct{ mounts *os.File }

// launch starts a program in a new cell. It writes to out.
func launch(ns *netns.NS, x *plan.Exec, hosts []byte, out *os.File) (*exec.Cmd, *cell, error) {
	stdin, err := textFile(x.Stdin)
	if err != nil {
		return nil, nil, err
	}
	defer stdin.Close()
	cmd := &exec.Cmd{Args: x.Argv, Env: environment(x.Env), Dir: orRoot(x.Dir), Stdin: stdin, Stdout: out, Stderr: out,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	var c *cell
	err = ns.Do(func() error {
		err := decorate(hosts)
		if err == nil {
			err = privateFiles(x.Files)
		}
		if err != nil && len(x.Files) > 0 {
			return fmt.Errorf("give it its files: %w", err)
		}
		if !isDir(cmd.Dir) {
			return fmt.Errorf("there is no folder %s; a file block can make one", cmd.Dir)
		}
		if cmd.Path, err = lookPath(x.Argv[0], cmd.Env); err != nil {
			return err
		}
		mounts, err := os.Open("/proc/thread-self/ns/mnt")
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			mounts.Close()
			return err
		}
		c = &cell{mounts}
		return nil
	})
	return cmd, c, err
}

// installed reports a program of the plan that this machine does not have, unless the
// scenario brings it along.
func installed(want *plan.Plan) error {
	for i := range want.Netns {
		for _, x := range want.Netns[i].Execs {
			env := environment(x.Env)
			named := func(f plan.File) bool { return filepath.Base(f.Path) == filepath.Base(x.Argv[0]) }
			path, err := lookPath(x.Argv[0], env)
			if err == nil && strings.Contains(path, "/") {
				if !filepath.IsAbs(path) {
					path = filepath.Join(orRoot(x.Dir), path)
				}
				_, err = os.Stat(path)
			}
			if err == nil || slices.ContainsFunc(x.Files, named) {
				continue
			}
			return &ProgramError{Pod: x.Name, File: x.Origin.File, Line: x.Origin.Line, Missing: x.Argv[0],
				Why: "cannot run: " + debian.NotInstalled(x.Argv[0])}
		}
	}
	return nil
}

// environment is that of a program: where programs are on this machine, and what its pod
// says. What else whoever started the lab has in theirs does not reach it.
func environment(own []string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/", "TERM=dumb"}, own...)
}

func orRoot(dir string) string {
	if dir == "" {
		return "/"
	}
	return dir
}

// textFile is a file in memory with a text, from its beginning.
func textFile(text string) (*os.File, error) {
	if text == "" {
		return os.Open(os.DevNull)
	}
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "stdin")
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return nil, err
	}
	_, err = f.Seek(0, 0)
	return f, err
}

// enter moves the calling thread, which is not used for anything else, into the cell.
func (c *cell) enter() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	return unix.Setns(int(c.mounts.Fd()), unix.CLONE_NEWNS)
}

// inhabitants are the processes in the cell, wherever they have moved otherwise.
func (c *cell) inhabitants() []int {
	var cell, process unix.Stat_t
	if unix.Fstat(int(c.mounts.Fd()), &cell) != nil {
		return nil
	}
	return processes(func(pid int) bool {
		return unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", pid), &process) == nil && process.Ino == cell.Ino && pid != os.Getpid()
	})
}

// privateFiles gives the calling thread, which has its own mount namespace, an empty /run,
// and a root directory with the files. Such a directory is on a tmpfs, and so are all on the
// path of a file; what else they hold on the machine is bound into them.
func privateFiles(files []plan.File) error {
	const root = "/run" // where the new root directory is mounted until it is that
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil || len(files) == 0 {
		return os.NewSyscallError("mount", err)
	}
	paths, special := make([]string, len(files)), map[string]bool{root: true}
	for i, f := range files {
		path, err := resolved(f.Path)
		if err != nil {
			return err
		}
		paths[i], special[path] = path, true
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			special[dir] = true
		}
	}
	if err := shadow(root, "/", special); err != nil {
		return err
	}
	if err := os.MkdirAll(root+root, 0o755); err != nil {
		return err
	}
	for i, f := range files {
		if err := place(root+paths[i], f); err != nil {
			return err
		}
	}
	// pivot_root(2): both directories may be the same, and the old root is then on top.
	if err := errors.Join(unix.Chdir(root), unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH), unix.Chdir("/")); err != nil {
		return fmt.Errorf("change the root directory: %w", err)
	}
	return nil
}

// place writes a file.
func place(path string, f plan.File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(f.Content), 0o600); err != nil {
		return err
	}
	return unix.Chmod(path, f.Mode) // whatever the umask is
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
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(from)
			if err == nil {
				err = os.Symlink(target, to)
			}
			if err != nil {
				return err
			}
		default:
			if err := bind(from, to, e.IsDir()); err != nil {
				return err
			}
		}
	}
	return nil
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
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("bind %s: %w", from, err)
	}
	return nil
}
