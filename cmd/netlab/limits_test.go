//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A limit that is too low is named, with what raises it; nothing is left, and no stack of Go is
// shown.
func TestLimitsAreNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	// The limits of namespaces are those of a user namespace of our own.
	within := func(set string) string {
		return "unshare -Urm sh -c 'mount -t tmpfs run /run && " + set + " netlab up a.hcl'"
	}
	const powerless = "exec setpriv --bounding-set -all --inh-caps -all --ambient-caps -all"
	for script, want := range map[string]string{
		"ulimit -n 8; exec netlab up a.hcl":                                "3 raise it: ulimit -n",
		"ulimit -n 8; exec netlab validate a.hcl":                          "3 raise it: ulimit -n",
		"ulimit -n 20; exec netlab up a.hcl":                               "4 raise it: ulimit -n",
		"ulimit -n 20; exec netlab test a.hcl":                             "4 raise it: ulimit -n",
		"ulimit -v 2000000; exec netlab up a.hcl":                          "3 raise it: ulimit -v",
		"ulimit -v 2000000; exec netlab version":                           "3 raise it: ulimit -v",
		within("echo 0 >/proc/sys/user/max_net_namespaces; exec"):          "4 sysctl -w user.max_net_namespaces=",
		within("echo 4 >/proc/sys/user/max_net_namespaces; exec"):          "4 sysctl -w user.max_net_namespaces=",
		within("echo 0 >/proc/sys/user/max_mnt_namespaces; exec"):          "4 sysctl -w user.max_mnt_namespaces=",
		within("echo 0 >/proc/sys/user/max_pid_namespaces; exec"):          "4 sysctl -w user.max_pid_namespaces=",
		within("echo 0 >/proc/sys/user/max_uts_namespaces; exec"):          "4 sysctl -w user.max_uts_namespaces=",
		within("echo 0 >/proc/sys/user/max_user_namespaces; " + powerless): "4 sysctl -w user.max_user_namespaces=",
		// The same without a limit: what is tested works.
		within("exec"): "0 a is up",
	} {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir, cmd.Env = p.dir, p.env
		if strings.HasPrefix(script, "unshare") { // it has a /run of its own, and its lab ends with that
			cmd.Env = append(os.Environ(), runVariable+"=")
			if want == "0 a is up" {
				cmd.Args[2] = strings.Replace(script, "exec netlab up a.hcl", "netlab up a.hcl && netlab down", 1)
			}
		}
		p.limited(cmd, want)
	}
	p.expectNothing()
}

// limited wants a command to end with a status and a text.
func (p *testPlace) limited(cmd *exec.Cmd, want string) {
	p.t.Helper()
	r := p.finish(cmd)
	status, text, _ := strings.Cut(want, " ")
	if fmt.Sprint(r.status) != status || !strings.Contains(r.out+r.err, text) || strings.Contains(r.out+r.err, "goroutine ") {
		p.t.Errorf("%v: exit status %d, want %s\n%s%s", cmd.Args, r.status, want, r.out, r.err)
	}
}

// The number of processes is limited for a user, and for a control group.
func TestLimitsOfProcessesAreNamed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: another user's processes are needed, with a number of their own")
	}
	t.Parallel()
	p := newPlace(t)
	dir := t.TempDir()
	openToAll(t, dir)
	program := filepath.Join(dir, "netlab")
	copyProgram(t, program)
	fine(t, os.WriteFile(filepath.Join(dir, "a.hcl"), []byte(small), 0o644))
	asUser := func(script string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "TMPDIR=" + dir, "XDG_RUNTIME_DIR=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyElse + 1, Gid: nobodyElse + 1}}
		return cmd
	}
	for _, verb := range []string{"up", "validate", "test --paper"} {
		p.limited(asUser("exec prlimit --nproc=16 netlab "+verb+" a.hcl"), "3 raise it: ulimit -u")
	}
	p.limited(asUser("exec prlimit --nproc=1000 netlab validate a.hcl"), "0 valid")
	p.expectNothing()
}

// A control group that may have few processes is named, with the file that says so.
func TestLimitsOfControlGroupsAreNamed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: control groups cannot be made")
	}
	t.Parallel()
	p := newPlace(t)
	dir := t.TempDir()
	fine(t, os.WriteFile(filepath.Join(dir, "a.hcl"), []byte(small), 0o644))
	parent := "/sys/fs/cgroup/pids"
	if _, err := os.Stat(parent); err != nil {
		parent = "/sys/fs/cgroup"
		_ = os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+pids"), 0o644) // cgroup-v2.rst
	}
	group := filepath.Join(parent, "netlab-test-"+filepath.Base(filepath.Dir(dir)))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("no control groups are mounted here: %v", err)
	}
	t.Cleanup(func() { fine(t, os.Remove(group)) })
	if err := os.WriteFile(filepath.Join(group, "pids.max"), []byte("20"), 0o644); err != nil {
		t.Skipf("this kernel lacks control groups that count processes here: %v", err)
	}
	cmd := exec.Command("sh", "-c", "echo $$ >"+group+"/cgroup.procs && exec netlab up a.hcl")
	cmd.Dir, cmd.Env = dir, p.env
	p.limited(cmd, "3 echo max >"+group)
	if _, err := os.Stat(filepath.Join(p.state(), "a")); err == nil {
		t.Error("it left a folder")
	}
	p.expectNothing()
}
