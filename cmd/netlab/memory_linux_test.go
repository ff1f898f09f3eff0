package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// memoryGroup makes a control group that may have 16 MB: what is moved into it keeps what it
// has, and is killed when it wants so much more (cgroup-v2.rst).
func memoryGroup(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("not root: control groups cannot be made")
	}
	for _, parent := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		has, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
		if err != nil || !strings.Contains(" "+strings.TrimSpace(string(has))+" ", " memory ") {
			continue
		}
		_ = os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+memory"), 0o644)
		group, err := os.MkdirTemp(parent, "netlab-test-")
		if err != nil {
			t.Skipf("this machine lacks cgroup2 memory controller: %v", err)
		}
		t.Cleanup(func() {
			eventually(t, "the control group is removed", func() string {
				if err := os.Remove(group); err != nil {
					return err.Error()
				}
				return ""
			})
		})
		if err := os.WriteFile(filepath.Join(group, "memory.max"), []byte("16777216"), 0o644); err != nil {
			t.Skipf("this machine lacks cgroup2 memory controller: %v", err)
		}
		return group
	}
	t.Skip("this machine lacks cgroup2 memory controller: none is mounted at /sys/fs/cgroup")
	return ""
}

func moveTo(t *testing.T, group string, pid int) {
	t.Helper()
	fine(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, pid), 0o644))
}

// A program that the kernel kills for want of memory is shown as killed; the lab goes on.
func TestAProgramWithoutMemoryIsShown(t *testing.T) {
	t.Parallel()
	group := memoryGroup(t)
	p := newPlace(t)
	mark := filepath.Base(group)
	// It reads all that there is before the first end of a line.
	p.write("a.hcl", `node "node1" {}
pod "web" {
  command = ["sh", "-c", "while ! test -e /run/go; do sleep 0.05; done; exec tail /dev/zero", "`+mark+`"]
}
pod "shell" {}
`)
	p.netlab("up", "a.hcl")
	if out := p.netlab("status"); out != "a: as planned\n" {
		t.Errorf("before: netlab status: %s", out)
	}
	pid := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.HasPrefix(line, []byte("sh\x00-c\x00while ")) && bytes.Contains(line, []byte(mark)) {
			pid = atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	if pid == 0 {
		t.Fatal("the program does not run")
	}
	moveTo(t, group, pid)
	p.netlab("exec", "--confined", "web", "--", "sh", "-c", "echo >/run/go")
	eventually(t, "the program is shown as killed", func() string {
		for _, verb := range []string{"ps", "status", "inspect"} {
			if r := p.try(verb); !strings.Contains(r.out+r.err, "SIGKILL") {
				return verb + ": " + r.out + r.err
			}
		}
		return ""
	})
	if out, err := exec.Command("grep", "^oom_kill 0", filepath.Join(group, "memory.events")).Output(); err == nil {
		t.Errorf("something else killed it: %s", out)
	}
	p.netlab("exec", "shell", "--", "true")
	p.netlab("down")
	p.expectNothing()
}
