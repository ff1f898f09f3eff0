//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// nobodyElse is a user and group that no machine should have.
const nobodyElse = 54321

// TestAsAnOrdinaryUser runs the tests of this package again without any right, in
// user namespaces, as people without root do.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: all other tests run as an ordinary user already")
	}
	t.Parallel()
	needsLabs(t)
	dir := t.TempDir()
	for d := dir; d != "/"; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err != nil || info.Mode()&0o005 == 0o005 {
			continue
		}
		if err := os.Chmod(d, info.Mode().Perm()|0o055); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "netlab.test")
	copyProgram(t, program)
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, nobodyElse, nobodyElse); err != nil {
		t.Fatal(err)
	}
	const chosen = "TestScripts|TestKilledEngine|TestDeadControlSocket|TestFullStateFolder|TestUpdates|TestStatus|TestTwoUps|TestWithoutARuntime"
	cmd := exec.Command(program, "-test.run", "^("+chosen+")", "-test.timeout", "2m", "-test.v")
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyElse, Gid: nobodyElse}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "--- PASS"); n < 8 {
		t.Errorf("only %d tests passed as an ordinary user\n%s", n, out)
	}
}

// copyProgram copies this program, by another: whatever this one forks meanwhile would
// inherit the file that is open for writing, and keep it from being run (ETXTBSY).
func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	if err := os.Chmod(to, 0o755); err != nil {
		t.Fatal(err)
	}
}

// Without XDG_RUNTIME_DIR the state folder is in the temporary directory, and
// nobody else's.
func TestWithoutARuntimeFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root: its state folder is fixed")
	}
	p := newPlace(t)
	p.write("a.hcl", small)
	unset := []string{"-u", "XDG_RUNTIME_DIR", "TMPDIR=" + p.run, "netlab"}
	for _, args := range [][]string{{"up", "a.hcl"}, {"exec", "web-0", "--", "true"}, {"status"}, {"down"}} {
		cmd := exec.Command("env", append(unset, args...)...)
		cmd.Dir, cmd.Env = p.dir, p.env
		if r := p.finish(cmd); r.status != 0 {
			t.Fatalf("netlab %v: %s", args, r.err)
		}
	}
	if err := unix.Access(p.run, unix.W_OK); err != nil {
		t.Error(err)
	}
	p.expectNothing()
}
