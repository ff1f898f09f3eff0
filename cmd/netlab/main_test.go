//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
)

// runVariable names the folder that a netlab under test sees as /run. Each test
// has its own, so that tests neither see nor disturb labs of the user or of each
// other.
const runVariable = "NLAB_TEST_RUN"

// TestMain lets this program act as everything that the tests start: the test, the
// netlab command, and the engine and janitor of labs.
func TestMain(m *testing.M) {
	engine.Main()
	if addr := os.Getenv(dialVariable); addr != "" {
		must(talk(addr))
		return
	}
	if filepath.Base(os.Args[0]) == "netlab" {
		must(refuseOverlay())
		must(enterRun())
		u := command.New(os.Stdin, os.Stdout, os.Stderr)
		if place, err := time.ParseDuration(os.Getenv(strictVariable)); err == nil {
			u.Limits = strict
			u.Limits.Place = place
		}
		start(u)
	}
	must(ownHost())
	// Tests wait for the kernel most of the time. The command line still decides.
	must(flag.Set("test.parallel", "6"))
	testscript.Main(m, map[string]func(){"netlab": main})
}

// enterRun lets this process see the folder of its test as /run. Root's state
// folder is there; that of other users is in XDG_RUNTIME_DIR.
func enterRun() error {
	dir := os.Getenv(runVariable)
	if dir == "" || os.Getuid() != 0 {
		return nil
	}
	os.Unsetenv(runVariable)
	runtime.LockOSThread() // until the exec: the mount namespace is this thread's
	for _, step := range []func() error{
		func() error { return unix.Unshare(unix.CLONE_NEWNS) },
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return unix.Mount(dir, "/run", "", unix.MS_BIND, "") },
		// As on a machine with systemd: mounts of a lab would show if it let them.
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "") },
		func() error { return unix.Exec("/proc/self/exe", os.Args, os.Environ()) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "test set-up:", err)
		os.Exit(125)
	}
}

// repository is the folder of the module.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestScripts runs the scripts of testdata/script: what users type, and what
// they read.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script", "") }

// runScripts runs the scripts of a folder, with another one before those of PATH.
func runScripts(t *testing.T, dir, programs string) {
	needsLabs(t)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			if programs != "" {
				env.Setenv("PATH", programs+string(filepath.ListSeparator)+env.Getenv("PATH"))
			}
			env.Setenv("SCENARIOS", filepath.Join(repository(t), "scenarios"))
			env.Setenv("HOME", env.WorkDir)
			run := filepath.Join(env.WorkDir, ".run")
			env.Setenv(runVariable, run)
			env.Setenv("XDG_RUNTIME_DIR", run)
			env.Defer(func() { downAll(env.Getenv("PATH"), run) })
			return os.Mkdir(run, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": exitStatusIs,
			"match":  inOrder,
		},
	})
}

// exitStatusIs runs netlab and expects an exit status: status 2 netlab up …
func exitStatusIs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args…]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		var coded interface{ ExitCode() int }
		if !errors.As(err, &coded) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = coded.ExitCode()
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// inOrder expects texts in a file (or stdout, stderr) in the given order.
func inOrder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: match FILE TEXT…")
	}
	rest := ts.ReadFile(args[0])
	for _, text := range args[1:] {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			ts.Fatalf("%s lacks %q, or not in this order; left was:\n%s", args[0], text, rest)
		}
		rest = after
	}
}
