//go:build linux

package inside

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/cell"
	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// Command is a program that a user runs in a lab.
type Command struct {
	Netns    string
	Program  string // the pod whose files it sees, if that runs a program; empty: none
	Confined bool
	Argv     []string
	Env      []string
	Dir      string
	TTY      bool // the first descriptor is to be the program's controlling terminal
}

// Start starts a command in its network namespace, on three files, with a mount namespace
// of its own where /sys shows that network namespace and /etc/hosts the lab. Leave is
// called when it has ended.
func (in *Lab) Start(ns *netns.NS, c Command, files []*os.File) (cmd *exec.Cmd, leave func(), err error) {
	leave = func() {}
	if c.Confined {
		in.visit(c.Netns)
		cmd, leave, err = in.confine(ns, c, files)
		if err != nil {
			return nil, nil, &CommandError{Program: c.Argv[0], Why: strings.TrimPrefix(err.Error(), c.Argv[0]+": ")}
		}
		return cmd, leave, nil
	}
	path, err := lookPath(c.Argv[0], c.Env)
	if err != nil {
		return nil, nil, err
	}
	c.Env = in.trusting(c.Env)
	cmd = &exec.Cmd{Path: path, Args: c.Argv, Env: c.Env, Dir: c.Dir, Stdin: files[0], Stdout: files[1], Stderr: files[2]}
	if !isDir(c.Dir) {
		cmd.Dir = "/"
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: c.TTY}
	in.visit(c.Netns)
	err = ns.Do(func() error {
		if err := in.furnish(c); err != nil {
			return err
		}
		return cmd.Start()
	})
	if err != nil {
		missing := errors.Is(err, fs.ErrNotExist)
		for errors.Unwrap(err) != nil { // what was to be started is known
			err = errors.Unwrap(err)
		}
		return nil, nil, &CommandError{Program: c.Argv[0], NotFound: missing, Why: err.Error()}
	}
	return cmd, leave, nil
}

// confine starts it in the cell of the program of its pod, or else in one of its own.
func (in *Lab) confine(ns *netns.NS, c Command, files []*os.File) (cmd *exec.Cmd, leave func(), err error) {
	x, pid := occupant.Exec{Name: c.Netns[strings.LastIndexByte(c.Netns, '.')+1:], Files: in.filesOf(c.Netns, c.Program)}, 0
	for _, p := range in.all() {
		if p.Name == c.Program {
			x, pid = p.Exec, p.confinedPID()
		}
	}
	leave = func() {}
	if pid == 0 {
		keeper, err := keep(ns, &x, in.etcOf(c.Netns, c.Program))
		if err != nil {
			return nil, nil, err
		}
		pid = keeper.Process.Pid
		leave = func() { _ = keeper.Process.Kill(); _ = keeper.Wait() }
	}
	err = ns.Do(func() (err error) {
		cmd, err = cell.Join(confined(&x, c.Argv), pid, opener(ns), c.TTY, files[0], files[1], files[2])
		return err
	})
	if err != nil {
		leave()
		if _, missing := lookPath(c.Argv[0], c.Env); missing != nil && x.Image.Digest == "" {
			err = errors.New(err.Error() + onDebian(c.Argv[0]))
		}
	}
	return cmd, leave, err
}

// onDebian is how to get a program that the machine lacks, where that is known.
func onDebian(program string) string {
	if pkg := debian.Package(program); pkg != "" {
		return "; on Debian: apt-get install " + pkg
	}
	return ""
}

// furnish gives the calling thread the files that a user's command sees: those of the
// program of a pod, or else of the machine. It does not see those of a pod without a program:
// whoever wrote them may have put them where its loader or its shell looks for instructions, and
// it has the rights of the user.
func (in *Lab) furnish(c Command) error {
	for _, p := range in.all() {
		if p.Name != c.Program {
			continue
		}
		if there, err := p.enter(); there {
			return err
		}
	}
	_ = decorate(in.etcOf(c.Netns, c.Program))
	return nil
}

// decorate gives the calling thread its own mounts. They are a convenience, so that
// refusals, as in some containers, are not errors, except for the mount namespace.
func decorate(of etc) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	_ = unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	of.mount()
	return nil
}

// lookPath finds a program on the user's PATH, with the folders of the network
// tools added.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := os.Getenv("PATH")
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = searchPath(p)
		}
	}
	if file := cell.OnPath(name, path); file != "" {
		return file, nil
	}
	return "", &CommandError{Program: name, NotFound: true, Why: "command not found" + onDebian(name)}
}

// searchPath adds the folders of the network's tools to a PATH: on Debian, ordinary
// users lack them. Without any PATH, the usual folders are used, as in shells: an empty
// element would mean the working folder.
func searchPath(path string) string {
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	return path + ":/usr/local/sbin:/usr/sbin:/sbin"
}

// holdFiles notes the files of pods without a program. Nobody reads them but confined commands of
// users, each of which gets mounts of its own: a change is seen by those that start after it.
func (o *occupants) holdFiles(add, remove []occupant.PodFiles) {
	if len(add)+len(remove) == 0 {
		return
	}
	// A clone: running hands out the list.
	o.files = slices.DeleteFunc(slices.Clone(o.files), func(p occupant.PodFiles) bool {
		same := func(x occupant.PodFiles) bool { return x.Pod == p.Pod }
		return slices.ContainsFunc(remove, same) || slices.ContainsFunc(add, same)
	})
	o.files = append(o.files, add...)
	slices.SortFunc(o.files, func(a, b occupant.PodFiles) int { return strings.Compare(a.Pod, b.Pod) })
}

// filesOf are those of a pod in a namespace that runs no program.
func (in *Lab) filesOf(netns, pod string) []occupant.File {
	in.mu.Lock()
	defer in.mu.Unlock()
	if o := in.spaces[netns]; o != nil {
		for _, p := range o.files {
			if p.Pod == pod {
				return p.Files
			}
		}
	}
	return nil
}
