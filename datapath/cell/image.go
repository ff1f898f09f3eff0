//go:build linux

package cell

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/netlab/netlab/datapath/plan/occupant"
	"golang.org/x/sys/unix"
)

// Image says what is written over an image in a cell: what the lab gives to all programs,
// which do without it, too, and the files of the pod.
type Image struct{ Given, Files []occupant.File }

// Tree is a folder with all that is mounted in it, to be mounted elsewhere: also where its
// path leads no longer there.
type Tree struct{ *os.File }

// Hold makes a tree of a folder that the calling thread sees in its own mount namespace.
func Hold(folder string) (*Tree, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, folder, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return nil, fmt.Errorf("take %s: %w", folder, err)
	}
	return &Tree{os.NewFile(uintptr(fd), folder)}, nil
}

// mount mounts it over a folder, which is no link.
func (t *Tree) mount(at string) error {
	if err := unix.MoveMount(int(t.Fd()), "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s on %s: %w", t.Name(), at, err)
	}
	return nil
}

// stage is where the root directory of an image is put together. It is not the root directory
// yet for the thread that starts the program: what becomes the program is netlab first, which
// may need libraries of the machine (see enterImage).
const stage, stagedRoot = "/tmp", "/tmp/root"

// WallImage gives the calling thread a mount namespace of its own, with an image in it and what
// each program has of the machine: devices, its /proc, the /run of its pod. What programs write
// over the image is theirs. Where this kernel does not let the caller stack file systems, as
// Linux before 5.11 in a user namespace, the image is read-only but for /tmp and /run.
//
// The image may be hostile. So its paths are followed only where it is the root directory, and
// nothing of the machine is there yet. The folders on which something is mounted are no links:
// package image sees to it.
//
// RefusedError means that this machine does not allow it; other errors are about the files.
func WallImage(image *Tree, x Image, owner int) (readOnly bool, err error) {
	if readOnly, err = raise(image, owner); err != nil {
		return false, &RefusedError{err}
	}
	if err := x.fill(readOnly, owner); err != nil {
		return readOnly, err
	}
	if err := errors.Join(ofKernel(stagedRoot), bindOver(stage+"/dev", stagedRoot+"/dev")); err != nil {
		return readOnly, &RefusedError{err}
	}
	return readOnly, nil
}

// raise mounts an image, and what is the pod's own in it.
func raise(image *Tree, owner int) (readOnly bool, err error) {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return false, os.NewSyscallError("unshare", err)
	}
	if err := tmpfs(stage, owner); err != nil {
		return false, err
	}
	for _, dir := range []string{"/lower", "/upper", "/work", "/root", "/dev", "/tmp"} {
		if err := makeAll(stage+dir, owner); err != nil {
			return false, err
		}
	}
	if err := errors.Join(os.Chmod(stage+"/tmp", 0o777|os.ModeSticky), furnish(stage+"/dev", owner), image.mount(stage+"/lower")); err != nil {
		return false, err
	}
	if readOnly = !stacked(); readOnly {
		err = errors.Join(bindOver(stage+"/lower", stagedRoot), protect(stagedRoot), bindOver(stage+"/tmp", stagedRoot+"/tmp"))
	}
	return readOnly, errors.Join(err, bindOver("/run", stagedRoot+"/run"))
}

// stacked mounts a file system that is an image with what is written over it, or reports that
// this kernel does not allow it.
func stacked() bool {
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", stage)
	// In a user namespace the marks of the upper layer are those that users may set
	// (overlayfs.rst, userxattr).
	for _, more := range []string{",userxattr", ""} {
		// It is a try (MS_SILENT): the log of the machine need not know.
		if unix.Mount("overlay", stagedRoot, "overlay", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_SILENT, options+more) == nil {
			return true
		}
	}
	return false
}

// enterImage makes the image the root directory, in the mount namespace of a cell.
func enterImage() error {
	// The mounts that a user namespace is given cannot be moved, copies of them can
	// (mount_namespaces(7)).
	if err := bindOver(stagedRoot, stagedRoot); err != nil {
		return err
	}
	return turnTo(stagedRoot)
}

// ErrReadOnly means that a file of a pod cannot be written into its image.
var ErrReadOnly = errors.New("the image is read-only, since this kernel does not stack file systems here (overlay; for ordinary users Linux 5.11): leave out the file, put it below /run or /tmp, or start the lab as root where the kernel has overlay (modprobe overlay)")

// fill writes files into the image, as its root directory.
func (x *Image) fill(readOnly bool, owner int) (err error) {
	machine, err := os.Open("/")
	if err != nil {
		return err
	}
	defer machine.Close()
	if err := errors.Join(unix.Chdir(stagedRoot), unix.Chroot(".")); err != nil {
		return &RefusedError{os.NewSyscallError("chroot", err)}
	}
	defer func() {
		err = errors.Join(err, machine.Chdir(), unix.Chroot("."))
	}()
	for _, f := range x.Given {
		if info, err := os.Lstat(f.Path); err == nil && !info.Mode().IsRegular() {
			_ = os.Remove(f.Path) // a link
		}
		_, _ = place("", f.Path, f, owner) // programs do without, too
	}
	for _, f := range x.Files {
		path, err := resolved(f.Path)
		if err == nil {
			_, err = place("", path, f, owner)
		}
		if errors.Is(err, unix.EROFS) && readOnly {
			err = ErrReadOnly
		}
		if err != nil {
			return fmt.Errorf("file %s: %w", f.Path, err)
		}
	}
	return nil
}

// HostID is the user or group, as the caller sees them, that one of an image is in a cell.
func HostID(owner int) func(id int) int {
	list := mappings("/proc/self/uid_map", owner)
	return func(id int) int {
		for _, m := range list {
			if id >= m.ContainerID && id-m.ContainerID < m.Size {
				return m.HostID + id - m.ContainerID
			}
		}
		return owner
	}
}

// inImage says that a program is not in the image.
func inImage(name string) error {
	if strings.Contains(name, "/") {
		return fmt.Errorf("the image has no program %s, or not the interpreter that it needs", name)
	}
	return fmt.Errorf("the image has no program %s in the folders of its PATH", name)
}
