//go:build linux

package kernel

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryUserNamespace starts a program that does nothing in a new user namespace. The
// namespace counts as working only with the privilege to create network namespaces in
// it, which some systems withhold.
func tryUserNamespace() error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return cmd.Run()
}
