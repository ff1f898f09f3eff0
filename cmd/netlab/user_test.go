//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// nobodyElse is a user and group that no machine should have.
const nobodyElse = 54321

// openToAll lets every user into a folder.
func openToAll(t *testing.T, dir string) {
	for d := dir; d != "/"; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err != nil || info.Mode()&0o005 == 0o005 {
			continue
		}
		if err := os.Chmod(d, info.Mode().Perm()|0o055); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAsAnOrdinaryUser runs tests of this package again without privileges, in user
// namespaces, as people without root do: those that are about processes and files. CI runs
// all tests of the repository as an ordinary user, too.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: all other tests run as an ordinary user already")
	}
	t.Parallel()
	needsLabs(t)
	dir := t.TempDir()
	openToAll(t, dir)
	program := filepath.Join(dir, "netlab.test")
	copyProgram(t, program)
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, nobodyElse, nobodyElse); err != nil {
		t.Fatal(err)
	}
	const chosen = "TestScripts|TestKilledEngine|TestDeadControlSocket|TestFullStateFolder|TestTwoUps|TestLastWords|TestCommandsSay|TestLimitsAreNamed|TestWithoutARuntime|TestPodsWithAnImage|TestAnImageThatCannotBeWritten|TestWithoutTheDeviceOfTunnels"
	cmd := exec.Command(program, "-test.run", "^("+chosen+")", "-test.timeout", "10m", "-test.v")
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyElse, Gid: nobodyElse}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, ofFailed(string(out)))
	}
	if n := strings.Count(string(out), "--- PASS"); n < 8 {
		t.Errorf("only %d tests passed as an ordinary user\n%s", n, out)
	}
}

// ofFailed keeps the output of failed tests from go test -v, and all of it if there are
// none, as when the program died.
func ofFailed(out string) string {
	failed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`).FindAllStringSubmatch(out, -1) {
		failed[m[1]] = true
	}
	if len(failed) == 0 {
		return out
	}
	var kept strings.Builder
	keep := false
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[0] == "===":
			keep = failed[words[2]]
		case len(words) > 2 && words[0] == "---":
			keep = failed[words[2]]
			fallthrough
		default:
			if keep {
				kept.WriteString(line)
			}
		}
	}
	return kept.String()
}

func TestTheOutputOfFailedTestsIsShown(t *testing.T) {
	const out = `=== RUN   TestA
    a_test.go:1: fine
=== NAME  TestB
    b_test.go:1: broken
--- PASS: TestA (1.00s)
    --- PASS: TestA/one (0.10s)
--- FAIL: TestB (1.00s)
    b_test.go:2: more
FAIL
`
	const want = `    b_test.go:1: broken
--- FAIL: TestB (1.00s)
    b_test.go:2: more
FAIL
`
	if got := ofFailed(out); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := ofFailed("panic: no\n"); got != "panic: no\n" {
		t.Errorf("a panic is shown as %q", got)
	}
}

// copyProgram copies this program with cp: a process that this one forks meanwhile would
// inherit the file open for writing, and the copy could not be run (ETXTBSY).
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

// Without XDG_RUNTIME_DIR the state folder is in the temporary directory, and private
// to the user.
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
