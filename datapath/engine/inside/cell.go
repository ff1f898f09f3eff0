//go:build linux

package inside

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/cell"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// place is where a program that was started runs: the network namespace of its pod, and the
// files that are its own. This file is the only place where such a process is set up.
type place struct {
	// mounts is a mount namespace with the machine's files and those of the pod, for the
	// commands of users. Unless the program is on the machine's own terms, it sees less of it.
	mounts *os.File
	cell   bool // the program is in a cell
}

// launch starts a program in a new place. It writes to out. With open it is not confined.
func launch(ns *netns.NS, x *occupant.Exec, of etc, out *os.File, open bool) (cmd *exec.Cmd, p *place, err error) {
	open = open && x.Image.Digest == "" // what somebody else has made of an image is not the user's
	owner := 0
	if !open {
		owner = cell.Owner()
	}
	stdin, err := textFile(x.Stdin, owner)
	if err != nil {
		return nil, nil, err
	}
	defer stdin.Close()
	if err := out.Chown(owner, owner); err != nil { // so that it can open /dev/stdout, as servers do
		return nil, nil, err
	}
	err = ns.Do(func() error {
		if open {
			_, mounts, err := settle(x.Files, of, owner)
			if err == nil {
				p = &place{mounts: mounts}
				cmd, err = startOpen(x, stdin, out)
			}
			return err
		}
		mounts, remark, err := wall(x, of, owner)
		if err == nil {
			if remark != "" {
				fmt.Fprintf(out, "%s%s\n", noted, remark)
			}
			p = &place{mounts, true}
			cmd, err = cell.Start(confined(x, x.Argv), opener(ns), false, stdin, out, out)
		}
		return err
	})
	if err != nil && p != nil {
		p.mounts.Close()
	}
	return cmd, p, err
}

// keep makes a cell in a network namespace that has none, and a process that keeps it.
func keep(ns *netns.NS, x *occupant.Exec, of etc) (keeper *exec.Cmd, err error) {
	err = ns.Do(func() error {
		mounts, _, err := wall(x, of, cell.Owner())
		if err != nil {
			return err
		}
		defer mounts.Close()
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer null.Close()
		keeper, err = cell.Start(confined(x, nil), opener(ns), false, null, null, null)
		return err
	})
	return keeper, err
}

// opener opens sockets in a network namespace.
func opener(ns *netns.NS) cell.Opener {
	return func(domain, kind, protocol int) (fd int, err error) {
		err = ns.Do(func() (err error) {
			fd, err = unix.Socket(domain, kind, protocol)
			return err
		})
		return fd, err
	}
}

// wall prepares the calling thread for a cell. It returns the mounts of the pod outside of it,
// and what there is to say about it.
func wall(x *occupant.Exec, of etc, owner int) (mounts *os.File, remark string, err error) {
	unlock(owner)
	var tree *cell.Tree
	if x.Image.Digest != "" {
		if tree, err = cell.Hold(imageFolder(x.Image.Digest)); err != nil {
			return nil, "", &cell.RefusedError{Err: err}
		}
		defer tree.Close()
	}
	own, mounts, err := settle(x.Files, of, owner)
	if err != nil {
		return nil, "", err
	}
	if tree != nil {
		remark, err = wallImage(tree, x, of, owner)
	} else if err = cell.Wall(own, owner); err != nil {
		err = &cell.RefusedError{Err: err}
	}
	if err != nil {
		mounts.Close()
		return nil, "", err
	}
	return mounts, remark, nil
}

// unlock lets programs without privileges listen on all ports of the network namespace of
// the calling thread, and send echo requests from it (ip-sysctl.rst). Kernels without such a
// setting lack no more than that.
func unlock(owner int) {
	groups := "0 0"
	if owner != 0 {
		groups = "0 2147483647"
	}
	for file, value := range map[string]string{"ip_unprivileged_port_start": "0", "ping_group_range": groups} {
		_ = os.WriteFile("/proc/sys/net/ipv4/"+file, []byte(value), 0o644)
	}
}

// settle gives the calling thread the mounts of a pod. It returns what is new in them.
func settle(files []occupant.File, of etc, owner int) (own []string, mounts *os.File, err error) {
	err = decorate(of)
	if err == nil {
		own, err = cell.Files(files, owner)
	}
	if err != nil && len(files) > 0 {
		return nil, nil, fmt.Errorf("give it its files: %w", err)
	}
	mounts, err = os.Open("/proc/thread-self/ns/mnt")
	return own, mounts, err
}

// confined is a command as it runs in the cell of a program.
func confined(x *occupant.Exec, argv []string) cell.Program {
	return cell.Program{Argv: argv, Env: environment(x), Dir: orRoot(x.Dir), Image: x.Image.Digest != "", Host: hostname(x.Name), NetAdmin: x.NetAdmin}
}

// hostname is that of a pod: its name, without the namespace; of an agent that of its node.
func hostname(pod string) string { return pod[strings.LastIndexAny(pod, "/@")+1:] }

// startOpen starts a program with all the rights of the engine, from a thread in its place.
func startOpen(x *occupant.Exec, in, out *os.File) (*exec.Cmd, error) {
	cmd := &exec.Cmd{Args: x.Argv, Env: environment(x), Dir: orRoot(x.Dir), Stdin: in, Stdout: out, Stderr: out,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if !isDir(cmd.Dir) {
		return nil, fmt.Errorf("there is no folder %s; a file block can make one", cmd.Dir)
	}
	var err error
	if cmd.Path, err = lookPath(x.Argv[0], cmd.Env); err != nil {
		return nil, err
	}
	return cmd, cmd.Start()
}

// imagePath is where programs are in images that do not say it.
const imagePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is that of a program: where programs are on this machine, and what its pod
// says. What else whoever started the lab has in theirs does not reach it.
func environment(x *occupant.Exec) (env []string) {
	path := os.Getenv("PATH")
	if x.Image.Digest != "" {
		path = imagePath
	}
	for _, v := range []string{"PATH=" + path, "HOME=/", "TERM=dumb"} {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(x.Env, func(own string) bool { return strings.HasPrefix(own, name+"=") }) {
			env = append(env, v)
		}
	}
	return append(env, x.Env...)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func orRoot(dir string) string {
	if dir == "" {
		return "/"
	}
	return dir
}

// textFile is a file in memory with a text, from its beginning, that belongs to an owner.
func textFile(text string, owner int) (*os.File, error) {
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
	if err := f.Chown(owner, owner); err != nil {
		f.Close()
		return nil, err
	}
	_, err = f.Seek(0, 0)
	return f, err
}

// enter moves the calling thread, which is not used for anything else, into the place.
func (p *place) enter() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	return unix.Setns(int(p.mounts.Fd()), unix.CLONE_NEWNS)
}

// inhabitants are the processes in the place, wherever they have moved otherwise.
func (p *place) inhabitants() []int {
	var here, process unix.Stat_t
	if unix.Fstat(int(p.mounts.Fd()), &here) != nil {
		return nil
	}
	return Processes(func(pid int) bool {
		return unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", pid), &process) == nil && process.Ino == here.Ino && pid != os.Getpid()
	})
}
