//go:build linux

package cell

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"
)

// Main turns the process into a program in a cell if Start or Join began it as one, and
// then does not return. Programs that use them call it first.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}
	runtime.LockOSThread() // what it may do belongs to a thread
	sealed := closeOnExec()
	words, fail := os.NewFile(wordsFD, "words"), os.NewFile(failFD, "fail")
	var x inside
	err := errors.Join(sealed, gob.NewDecoder(words).Decode(&x))
	if err == nil {
		err = become(&x, fail)
	}
	fmt.Fprint(fail, err)
	os.Exit(126)
}

// closeOnExec keeps every descriptor but the standard ones from the program: also those that
// whoever started netlab let it inherit.
func closeOnExec() error {
	if unix.CloseRange(wordsFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	open, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd >= wordsFD {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

// refused begins what is said when the machine does not let us make the cell.
const refused = "refused: "

// become turns this process into the program, or returns why it cannot. Without a program it
// stays, and keeps the cell for those that join it.
func become(x *inside, fail *os.File) error {
	steps := []func(*inside) error{limit, lower, dropIDs, restrictTo, func(x *inside) error {
		if x.Fresh && x.NetAdmin {
			return nil // it has the capability itself
		}
		return ask(fail)
	}}
	switch {
	case !x.Fresh && x.Image:
		steps = append([]func(*inside) error{follow}, steps...)
	case x.Fresh:
		steps = append([]func(*inside) error{finish}, steps...)
	}
	for _, step := range steps {
		if err := step(x); err != nil {
			return errors.New(refused + err.Error())
		}
	}
	if len(x.Argv) == 0 {
		fail.Close()
		for {
			_ = unix.Pause()
		}
	}
	if err := os.Chdir(x.Dir); err != nil && x.Image {
		return fmt.Errorf("the image has no folder %s", x.Dir)
	} else if err != nil {
		return fmt.Errorf("there is no folder %s; a file block can make one", x.Dir)
	}
	path, err := x.find()
	if err != nil {
		return err
	}
	if err := unix.Exec(path, x.Argv, x.Env); err != nil {
		if x.Image && errors.Is(err, unix.ENOENT) {
			return inImage(path)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// find looks for a program where its environment says.
func (x *inside) find() (string, error) {
	name := x.Argv[0]
	if strings.Contains(name, "/") {
		if _, err := os.Stat(name); x.Image && err != nil {
			return "", inImage(name)
		} else if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("programs of a scenario do not see %s: of the machine they have /%s; a file block can bring it", name, strings.Join(visible, ", /"))
		}
		return name, nil
	}
	for _, v := range x.Env {
		if dirs, ok := strings.CutPrefix(v, "PATH="); ok {
			if file := OnPath(name, dirs); file != "" {
				return file, nil
			}
		}
	}
	if x.Image {
		return "", inImage(name)
	}
	return "", fmt.Errorf("%s: not found where programs of a scenario look: a file block can bring it", name)
}

// OnPath is the program of a name in the first of the folders of a PATH that has one; empty:
// none has.
func OnPath(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// masked are the files and folders of /proc that tell of the machine, as runtimes of
// containers mask them; protected, those that change it.
var (
	masked    = []string{"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/kmsg", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/proc/kallsyms", "/sys/firmware"}
	protected = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// finish does what only the first process of a cell can: its /proc, terminals and name.
func finish(x *inside) error {
	if x.Image {
		if err := enterImage(); err != nil {
			return err
		}
	}
	if err := unix.Sethostname([]byte(x.Host)); err != nil {
		return os.NewSyscallError("sethostname", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// Without terminals programs work, but for the few that need one.
	_ = unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	for _, path := range protected {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := bindOver(path, path); err != nil {
			return err
		}
		if err := protect(path); err != nil {
			return err
		}
	}
	const ofNetwork = "/proc/sys/net"
	if err := bindOver(ofNetwork, ofNetwork); err != nil {
		return err
	}
	attr := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, ofNetwork, 0, &attr); err != nil {
		return fmt.Errorf("make %s writable: %w", ofNetwork, err)
	}
	for _, path := range masked {
		if err := hide(path); err != nil {
			return err
		}
	}
	return nil
}

// follow enters the mount namespace of a cell: whatever the image lacks, this process has begun.
func follow(*inside) error {
	if err := errors.Join(unix.Unshare(unix.CLONE_FS), unix.Setns(mountsFD, unix.CLONE_NEWNS)); err != nil {
		return fmt.Errorf("enter the mounts of the cell: %w", err)
	}
	return nil
}

func write(file, text string) error { return os.WriteFile(file, []byte(text), 0o644) }

// capabilities are those that a program keeps: over the files and processes of its own user
// namespace, as in containers, and over its network if that belongs to it. A program that
// joins another is in the user namespace of its creator, and has none.
func (x *inside) capabilities() []capability.Cap {
	if !x.Fresh {
		return nil
	}
	list := []capability.Cap{capability.CAP_CHOWN, capability.CAP_DAC_OVERRIDE, capability.CAP_FOWNER, capability.CAP_FSETID, capability.CAP_KILL,
		capability.CAP_SETGID, capability.CAP_SETUID, capability.CAP_SETPCAP, capability.CAP_SYS_CHROOT, capability.CAP_NET_BIND_SERVICE, capability.CAP_NET_RAW}
	if x.NetAdmin {
		list = append(list, capability.CAP_NET_ADMIN)
	}
	return list
}

// lower gives up the capabilities that no program may have again.
func lower(x *inside) error { return x.apply(capability.BOUNDS) }

func (x *inside) apply(kind capability.CapType) error {
	c, err := capability.NewPid2(0)
	if err != nil {
		return err
	}
	c.Clear(kind)
	c.Set(kind, x.capabilities()...)
	if err := c.Apply(kind); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// dropIDs makes the process nobody, unless it is root in a user namespace of its own.
func dropIDs(x *inside) error {
	if !x.Fresh && x.Owner != 0 {
		err := errors.Join(unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0), unix.Setgroups(nil),
			unix.Setresgid(x.Owner, x.Owner, x.Owner), unix.Setresuid(x.Owner, x.Owner, x.Owner))
		if err != nil {
			return fmt.Errorf("become nobody: %w", err)
		}
	}
	return nil
}

// restrictTo leaves the process its few capabilities, and installs the filter.
func restrictTo(x *inside) error { return errors.Join(x.apply(capability.CAPS), restrict()) }
