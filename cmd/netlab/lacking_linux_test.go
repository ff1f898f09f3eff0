package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/image/imagetest"
)

const tunnelled = `network { mode = "udp" }
node "node1" {}
node "node2" {}
pod "web" {
  count = 2
}
`

// Without /dev/net/tun a lab that needs it is refused before anything is built, and the
// file that is missing is named with what makes it. Other labs work.
func TestWithoutTheDeviceOfTunnels(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("u.hcl", tunnelled)
	p.write("a.hcl", small)
	if _, err := os.Stat("/sys/class/misc/tun"); err != nil {
		t.Skipf("this machine lacks tun: %v", err)
	}
	// With the file the lab works, or says that it is not for this user.
	if f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err == nil {
		f.Close()
		p.netlab("test", "u.hcl")
	} else if os.IsPermission(err) {
		p.limited(p.command("up", "u.hcl"), "3 this machine lacks: /dev/net/tun: permission denied (as root: chmod 666 /dev/net/tun)")
	} else {
		t.Skipf("this machine lacks tun: %v", err)
	}
	// Its folder is there, and empty, in a mount namespace of our own.
	without := func(command string) *exec.Cmd {
		args := []string{"--mount", "--propagation", "private"}
		if os.Getuid() != 0 {
			args = append(args, "--map-root-user")
		}
		cmd := exec.Command("unshare", append(args, "sh", "-c", `mount -t tmpfs none /dev/net && exec `+command)...)
		cmd.Dir, cmd.Env = p.dir, p.env
		return cmd
	}
	const lacks = "/dev/net/tun: no such file or directory (the kernel has it; as root: mkdir -p /dev/net && mknod -m 666 /dev/net/tun c 10 200)"
	p.limited(without("netlab up u.hcl"), "3 u.hcl:1: this lab needs tun, which this machine lacks: "+lacks)
	p.expectNothing()
	p.limited(without("netlab test u.hcl"), "3 this machine lacks what the lab needs: tun ("+lacks+")")
	p.limited(without("netlab doctor"), "0 pod network udp              no: tun is missing")
	p.limited(without("netlab doctor"), "0 "+lacks)
	p.limited(without("netlab test a.hcl"), "0 passed")
	p.expectNothing()
}

// refusing is the variable with which a netlab under test finds a kernel that does not
// stack file systems, as Linux before 5.11 in user namespaces.
const refusing = "NLAB_TEST_NO_OVERLAY"

// refuseOverlay has the kernel refuse the mount of the only file system that netlab
// mounts silently, to this process and all that it starts (seccomp(2)).
func refuseOverlay() error {
	if os.Getenv(refusing) == "" {
		return nil
	}
	os.Unsetenv(refusing)
	runtime.LockOSThread()            // until the exec: the filter is this thread's
	const number, flags = 0, 16 + 3*8 // in struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_MOUNT, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.MS_SILENT, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("refuse mounts: %w", err)
	}
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}

// Where the kernel does not stack file systems, a program runs in an image that it cannot
// write, which its log says; what would have to be written there is refused. Elsewhere it
// writes.
func TestAnImageThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	imagetest.Image{Config: v1.Config{Env: []string{"PATH=/usr/bin"}}, Programs: []string{"sh", "cat", "sleep"}, Files: map[string]string{"/srv/page": "first"}}.Folder(t, filepath.Join(p.dir, "first"))
	const lab = `node "node1" {}
pod "web" {
  image   = "first"
  command = ["sh", "-c", "echo mine >/srv/own && echo written || echo not written; echo mine >/tmp/own && echo below tmp; echo done >/run/state; exec sleep inf"]
  ready { exec = ["cat", "/run/state"] }
  FILE
}
`
	p.write("a.hcl", strings.Replace(lab, "FILE", "", 1))
	p.write("b.hcl", strings.Replace(lab, "FILE", `file "/srv/given" { content = "given" }`, 1))
	const remark = "its image is read-only but for /tmp and /run, since this kernel does not stack file systems here"
	plain := p.env
	for _, refused := range []bool{true, false} {
		p.env = plain
		if refused {
			p.env = append(p.env[:len(p.env):len(p.env)], refusing+"=1")
		}
		p.upOrSkip("a.hcl")
		log := p.netlab("logs", "--lab", "a", "web")
		said, own, kept := strings.Contains(log, remark), strings.Contains(log, "not written"), strings.Contains(log, "below tmp")
		if !refused && said {
			t.Skipf("this machine lacks overlay in user namespaces: %s", log)
		}
		if said != refused || own != refused || !kept {
			t.Errorf("refused is %v; its log:\n%s", refused, log)
		}
		p.netlab("test", "a.hcl")
		p.netlab("down", "a")
		if refused {
			p.limited(p.command("up", "b.hcl"), "4 file /srv/given: the image is read-only, since this kernel does not stack file systems here")
		} else {
			p.netlab("up", "b.hcl")
			p.netlab("down", "b")
		}
		p.expectNothing()
	}
}
