//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/engine"
)

// patience limits every wait for the kernel or a process.
const patience = 60 * time.Second

// needsLabs skips tests where no lab can run at all.
var needsLabs = func() func(testing.TB) {
	probe := sync.OnceValue(func() error {
		lab, err := engine.Start(context.Background(), "")
		if err == nil {
			lab.Abandon()
		}
		return err
	})
	return func(t testing.TB) {
		t.Helper()
		if err := probe(); err != nil {
			t.Skipf("no lab can run here: %v", err)
		}
	}
}()

// testPlace is where a test runs netlab: a working directory, and a state folder.
type testPlace struct {
	t        testing.TB
	dir, run string
	env      []string
}

func newPlace(t testing.TB) *testPlace {
	t.Helper()
	needsLabs(t)
	untouched(t) // its clean-up comes last
	p := &testPlace{t: t, dir: t.TempDir()}
	run, err := os.MkdirTemp("", "netlab-run")
	if err != nil {
		t.Fatal(err)
	}
	p.run = run
	p.env = append(os.Environ(), runVariable+"="+p.run, "XDG_RUNTIME_DIR="+p.run)
	t.Cleanup(func() {
		downAll(os.Getenv("PATH"), p.run)
		if err := os.Remove(p.run); err != nil {
			t.Errorf("the state folder is not empty: %v", err)
		}
	})
	return p
}

// downAll removes what a failed test left running.
func downAll(path, run string) {
	cmd := exec.Command(filepath.Join(firstWith("netlab", path), "netlab"), "down", "--all")
	cmd.Env = append(os.Environ(), runVariable+"="+run, "XDG_RUNTIME_DIR="+run)
	_ = cmd.Run()
}

func firstWith(program, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
			return dir
		}
	}
	return ""
}

// state is the folder with the folders of labs.
func (p *testPlace) state() string { return filepath.Join(p.run, "netlab-lab") }

func (p *testPlace) write(name, text string) string {
	p.t.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		p.t.Fatal(err)
	}
	return file
}

// command is netlab, ready to start.
func (p *testPlace) command(args ...string) *exec.Cmd {
	cmd := exec.Command("netlab", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// result is how a command ended.
type result struct {
	out, err string
	status   int
}

func (p *testPlace) try(args ...string) result {
	p.t.Helper()
	return p.finish(p.command(args...))
}

func (p *testPlace) finish(cmd *exec.Cmd) result {
	p.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("%v: %v", cmd.Args, err)
	}
	return result{out: out.String(), err: errs.String(), status: cmd.ProcessState.ExitCode()}
}

// netlab runs netlab, which must succeed, and returns its answer.
func (p *testPlace) netlab(args ...string) string {
	p.t.Helper()
	r := p.try(args...)
	if r.status != 0 {
		p.t.Fatalf("netlab %s: exit status %d\n%s%s", strings.Join(args, " "), r.status, r.out, r.err)
	}
	return r.out
}

// upOrSkip builds a lab, or skips the test for the feature that this machine lacks.
func (p *testPlace) upOrSkip(file string) {
	p.t.Helper()
	r := p.try("up", file)
	if lacks := regexp.MustCompile(`this lab needs (.+?), which this machine lacks(.*)`).FindStringSubmatch(r.err); r.status == 3 && lacks != nil {
		p.t.Skipf("this machine lacks %s%s", lacks[1], lacks[2])
	}
	if r.status != 0 {
		p.t.Fatalf("netlab up %s: exit status %d\n%s%s", file, r.status, r.out, r.err)
	}
}

// processes lists the processes that serve labs of this place, and those inside.
func (p *testPlace) processes() []string {
	var list []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(env, []byte("XDG_RUNTIME_DIR="+p.run+"\x00")) {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && len(line) > 0 {
			list = append(list, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return list
}

// sleeps reports a program "sleep 1000" that runs in a lab: not the command that asked for it,
// which has these words, too, and later ones than its own name.
func (p *testPlace) sleeps() bool {
	return slices.ContainsFunc(p.processes(), func(process string) bool {
		_, line, _ := strings.Cut(process, " ")
		return strings.HasPrefix(line, "sleep 1000")
	})
}

// serving returns the process numbers of the engines, or janitors, of this place.
func (p *testPlace) serving(role string) []int {
	var pids []int
	for _, line := range p.processes() {
		words := strings.Fields(line)
		if len(words) > 2 && words[1] == "netlab" && words[2] == role {
			pids = append(pids, atoi(words[0]))
		}
	}
	return pids
}

// expectNothing waits until nothing is left of the labs of this place.
func (p *testPlace) expectNothing() {
	p.t.Helper()
	eventually(p.t, "nothing of the lab is left", func() string {
		if left := p.processes(); len(left) > 0 {
			return "processes:\n" + strings.Join(left, "\n")
		}
		if entries, _ := os.ReadDir(p.run); len(entries) > 0 {
			return "files: " + entries[0].Name()
		}
		return ""
	})
}

// eventually polls until the check has nothing to complain about.
func eventually(t testing.TB, what string, check func() (complaint string)) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		complaint := check()
		if complaint == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s: %s", what, complaint)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = 10*n + int(c-'0')
	}
	return n
}
