//go:build linux

package cell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Network moves the calling thread into a new network namespace that a program with NetAdmin
// may change. It belongs to a user namespace of its own: a network namespace obeys those who
// may administer the user namespace that it was made in, or one above, so that with the
// capability over one pod's network comes none over another's, nor over a node's.
func Network() error {
	words, say, err := os.Pipe()
	if err != nil {
		return err
	}
	defer say.Close()
	defer words.Close()
	// The process needs no more than to be there: it waits to be told what to become.
	attr := withUsers(Owner())
	attr.Unshareflags = unix.CLONE_NEWNET // after its users have IDs: files of a network namespace belong to what root is then
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"netlab", "cell"}, Env: []string{variable + "=1"}, ExtraFiles: []*os.File{words}, SysProcAttr: attr}
	if err := cmd.Start(); err != nil {
		return &RefusedError{err}
	}
	made, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil {
		return fmt.Errorf("open the new network namespace: %w", err)
	}
	defer made.Close()
	if err := unix.Setns(int(made.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the new network namespace: %w", err)
	}
	return nil
}

// errShared means that a network namespace belongs to the engine's own user namespace.
var errShared = errors.New("whoever may change its network may change others: it was made for programs that may not (netlab down, then netlab up)")

// ownerOfNetwork is the user namespace that the network namespace of the calling thread belongs to,
// which must be one of its own.
func ownerOfNetwork() (*os.File, error) {
	network, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer network.Close()
	fd, err := unix.IoctlRetInt(int(network.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		return nil, fmt.Errorf("find the user namespace of a network: %w", err)
	}
	users := os.NewFile(uintptr(fd), "users")
	var its, own unix.Stat_t
	err = errors.Join(unix.Fstat(fd, &its), unix.Stat("/proc/thread-self/ns/user", &own))
	if err == nil && its.Ino == own.Ino {
		err = errShared
	}
	if err != nil {
		users.Close()
		return nil, err
	}
	return users, nil
}
