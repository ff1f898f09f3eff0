//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// small is a lab with a bit of everything:
//
//	laptop ─┬─ node1 ── web-0, web-1, …
//	        └─ node2 ── shell
const small = `
variable "replicas" {
  type    = number
  default = 1
}
node "node1" {}
node "node2" {}
client "laptop" {}
pod "web" {
  count  = var.replicas
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}
pod "shell" { node = node.node2 }
service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}
expect "the service answers" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
}
`

func TestUpAndDownLeaveNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	for range 2 {
		p.netlab("up", "a.hcl")
		p.netlab("status")
		p.netlab("down")
		p.expectNothing()
	}
}

func TestKilledEngineLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	p.netlab("up", "a.hcl")
	guest := p.command("exec", "web-0", "--", "sleep", "1000")
	if err := guest.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program runs", func() string {
		if !strings.Contains(strings.Join(p.processes(), "\n"), " sleep 1000") {
			return "it does not"
		}
		return ""
	})
	kill(t, unix.SIGKILL, p.serving("engine")...)
	if err := guest.Wait(); err == nil {
		t.Error("netlab exec succeeded in a lab that was killed")
	}
	p.expectNothing()
}

func TestKilledEngineAndJanitorAreCleanedUpByTheNextCommand(t *testing.T) {
	t.Parallel()
	for _, next := range [][]string{{"ps"}, {"down"}, {"down", "a"}, {"up", "a.hcl"}} {
		p := newPlace(t)
		p.write("a.hcl", small)
		p.netlab("up", "a.hcl")
		kill(t, unix.SIGKILL, p.serving("janitor")...)
		kill(t, unix.SIGKILL, p.serving("engine")...)
		eventually(t, "both are gone", func() string { return strings.Join(p.processes(), "\n") })
		if _, err := os.Stat(filepath.Join(p.state(), "a")); err != nil {
			t.Fatalf("the test proves nothing: %v", err)
		}
		out := p.netlab(next...)
		if next[0] == "up" {
			if !strings.Contains(out, "a is up") {
				t.Errorf("netlab up after the kill: %s", out)
			}
			p.netlab("down")
		}
		p.expectNothing()
	}
}

func kill(t testing.TB, signal unix.Signal, pids ...int) {
	t.Helper()
	if len(pids) == 0 {
		t.Fatal("there is no process to kill")
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
	}
}

// life measures how long netlab up takes here.
func (p *testPlace) life(args ...string) time.Duration {
	p.t.Helper()
	started := time.Now()
	p.netlab(args...)
	return time.Since(started)
}

// moments calls fn with times all over the life of a command, and beyond, in a
// random order within each of the equal parts.
func moments(n int, life time.Duration, fn func(time.Duration)) {
	part := life * 5 / 4 / time.Duration(n)
	for i := range n {
		fn(part*time.Duration(i) + rand.N(part))
	}
}

func TestKilledUpLeavesNothingOrTheWholeLab(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	life := p.life("up", "a.hcl")
	p.netlab("down")
	p.expectNothing()
	halfWay := 0
	moments(50, life, func(after time.Duration) {
		up := p.command("up", "a.hcl")
		if err := up.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after) // the moment is what is random, nothing waits for it
		_ = up.Process.Kill()
		if up.Wait() != nil {
			halfWay++
		}
		p.expectNothingOrALab("a", "a.hcl")
	})
	if halfWay < 15 {
		t.Errorf("only %d of 50 commands were killed half-way", halfWay)
	}
}

// expectNothingOrALab waits until a command that was ended has left nothing, or
// the whole lab, and takes that down.
func (p *testPlace) expectNothingOrALab(name, file string) {
	p.t.Helper()
	eventually(p.t, "there is nothing, or the whole lab", func() string {
		if len(p.processes()) == 0 {
			return ""
		}
		// An engine that is about to end with its maker may still answer.
		if r := p.try("status", name); r.status != 0 {
			return r.out + r.err
		}
		return ""
	})
	p.netlab("down", name)
	p.expectNothing()
}

func TestInterruptedUpLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	life := p.life("up", "a.hcl")
	p.netlab("down")
	interrupted := 0
	moments(30, life, func(after time.Duration) {
		up := p.command("up", "a.hcl")
		if err := up.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = up.Process.Signal(os.Interrupt)
		_ = up.Wait()
		switch status := up.ProcessState.Sys().(syscall.WaitStatus); {
		case status.Signaled(): // it did not get as far as to catch the signal
		case status.ExitStatus() == exitInterrupted:
			interrupted++
		case status.ExitStatus() == exitOK:
			if out := p.netlab("down", "a"); out != "a is down\n" {
				t.Errorf("up succeeded, then: %s", out)
			}
		default:
			t.Errorf("up ended with %v after an interrupt", up.ProcessState)
		}
		// At once: it has cleaned up before it ended.
		if left := p.serving("engine"); len(left) > 0 {
			t.Errorf("after %v the engine still runs", after)
		}
		p.expectNothing()
	})
	if interrupted < 5 {
		t.Errorf("only %d of 30 commands were interrupted", interrupted)
	}
}

func TestInterruptedUpdateLeavesTheLabAsItWas(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	p.netlab("up", "a.hcl")
	life := p.life("up", "--var", "replicas=40", "a.hcl")
	p.netlab("up", "a.hcl")
	back := 0
	moments(15, life, func(after time.Duration) {
		up := p.command("up", "--var", "replicas=40", "a.hcl")
		if err := up.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = up.Process.Signal(os.Interrupt)
		_ = up.Wait()
		if up.ProcessState.ExitCode() == exitOK {
			p.netlab("up", "a.hcl")
			return
		}
		back++
		if out := p.netlab("plan", "--diff", "a.hcl"); out != "a: no change\n" {
			t.Errorf("interrupted after %v: %s", after, out)
		}
		p.netlab("status")
	})
	if back < 3 {
		t.Errorf("only %d of 15 updates were interrupted", back)
	}
	p.netlab("down")
	p.expectNothing()
}

func TestDownTwiceAndWithoutTheFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.write("a.hcl", small)
	check := func(want string, args ...string) {
		t.Helper()
		if out := p.netlab(args...); out != want {
			t.Errorf("netlab %s: %q, want %q", strings.Join(args, " "), out, want)
		}
	}
	p.netlab("up", "a.hcl")
	check("a is down\n", "down", "a.hcl")
	check("a is not running\n", "down", "a.hcl")
	check("no lab is running\n", "down")
	p.netlab("up", "a.hcl")
	p.write("a.hcl", "this is no scenario {{{")
	check("a is down\n", "down", "a.hcl")
	p.write("a.hcl", small)
	p.netlab("up", "a.hcl")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	check("a is down\n", "down", "a.hcl")
	check("no lab is running\n", "down", "--all")
	p.expectNothing()
}

func TestTwoCopiesOfOneLab(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("one/a.hcl", small)
	p.write("two/a.hcl", small)
	p.netlab("up", "one/a.hcl")
	r := p.try("up", "two/a.hcl")
	if r.status != exitInvalid || !strings.Contains(r.err, filepath.Join(p.dir, "one/a.hcl")) ||
		!strings.Contains(r.err, "netlab up --name a-2 two/a.hcl") {
		t.Errorf("the second copy: exit status %d\n%s", r.status, r.err)
	}
	p.netlab("status", "a")
	p.netlab("up", "--name", "a-2", "two/a.hcl")
	if out := p.netlab("up", "--name", "a-2", "two/a.hcl"); out != "a-2: no change\n" {
		t.Errorf("up of the second copy again: %s", out)
	}
	p.netlab("test", "one", "two")
	p.netlab("status", "a")
	p.netlab("status", "a-2")
	p.netlab("down", "a")
	p.netlab("status", "a-2")
	p.netlab("down", "--all")
	p.expectNothing()
}

func TestTwoUpsOfOneFileAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	p.write("other/a.hcl", small)
	for range 5 {
		results := p.sideBySide([][]string{{"up", "a.hcl"}, {"up", "a.hcl"}, {"up", "a.hcl"}})
		made := 0
		for _, r := range results {
			if strings.Contains(r.out, "a is up") {
				made++
			} else if r.out != "a: no change\n" {
				t.Errorf("one of them: exit status %d: %s%s", r.status, r.out, r.err)
			}
		}
		if made != 1 {
			t.Errorf("%d commands made the lab, want 1", made)
		}
		p.netlab("status")
		p.netlab("down")
		p.expectNothing()
		results = p.sideBySide([][]string{{"up", "a.hcl"}, {"up", "other/a.hcl"}})
		if results[0].status+results[1].status != exitInvalid {
			t.Errorf("up of different files at once: %+v", results)
		}
		p.netlab("down")
		p.expectNothing()
	}
}

func (p *testPlace) sideBySide(commands [][]string) []result {
	results := make([]result, len(commands))
	var all sync.WaitGroup
	for i, args := range commands {
		all.Go(func() { results[i] = p.try(args...) })
	}
	all.Wait()
	return results
}

func TestAKilledUpHandsOverToTheOneThatWaits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	life := p.life("up", "a.hcl")
	p.netlab("down")
	moments(10, life, func(after time.Duration) {
		first := p.command("up", "a.hcl")
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			time.Sleep(after)
			_ = first.Process.Kill()
			_ = first.Wait()
		}()
		out := p.netlab("up", "a.hcl")
		<-killed
		p.netlab("status", "a")
		if got := p.netlab("down", "a"); got != "a is down\n" {
			t.Errorf("up said %q, then down %q", out, got)
		}
		p.expectNothing()
	})
}

func TestTwentyLabsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	var ups, checks [][]string
	for i := range 20 {
		name := fmt.Sprintf("lab-%d", i)
		ups = append(ups, []string{"up", "--name", name, "a.hcl"})
		checks = append(checks, []string{"status", name})
	}
	for _, commands := range [][][]string{ups, checks} {
		for i, r := range p.sideBySide(commands) {
			if r.status != 0 {
				t.Errorf("%v: exit status %d: %s%s", commands[i], r.status, r.out, r.err)
			}
		}
	}
	if n := strings.Count(p.netlab("ps"), "running"); n != 20 {
		t.Errorf("netlab ps shows %d running labs, want 20", n)
	}
	if n := strings.Count(p.netlab("down", "--all"), "is down"); n != 20 {
		t.Errorf("netlab down --all removed %d labs, want 20", n)
	}
	p.expectNothing()
}

// A control socket that does not answer must neither hide the lab nor keep it.
func TestDeadControlSocket(t *testing.T) {
	t.Parallel()
	stop := func(t *testing.T, p *testPlace) { halt(t, p.serving("engine")...) }
	without := func(files ...string) func(*testing.T, *testPlace) {
		return func(t *testing.T, p *testPlace) {
			for _, file := range files {
				if err := os.Remove(filepath.Join(p.state(), "a", file)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	tests := []struct {
		name  string
		fault func(*testing.T, *testPlace)
		state string
	}{
		{"socket deleted", without("control"), "unreachable"},
		{"all files deleted", without("control", "pids", "log", "plan"), "unreachable"},
		{"only the note of its processes deleted", without("pids"), "running"},
		{"engine stopped", stop, "unreachable"},
		{"janitor stopped", func(t *testing.T, p *testPlace) { halt(t, p.serving("janitor")...) }, "running"},
		{"engine stopped and note deleted", func(t *testing.T, p *testPlace) { stop(t, p); without("pids")(t, p) }, "unreachable"},
		{"garbage", says("\x00\xff\x17garbage\n\n", true), "running"},
		{"garbage in a request", says("r\x7f\xff\xff\xff\xff\xff garbage", true), "running"},
		{"garbage in a program to run", says("x\x05\x01\x02", true), "running"},
		{"half a request", says("r\x20\xff", false), "running"},
		{"no request", says("", false), "running"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("a.hcl", small)
			p.netlab("up", "a.hcl")
			test.fault(t, p)
			if out := p.netlab("ps"); !strings.Contains(out, "a ") || !strings.Contains(out, test.state) {
				t.Errorf("netlab ps: %s", out)
			}
			if out := p.netlab("down", "a"); out != "a is down\n" {
				t.Errorf("netlab down: %s", out)
			}
			if left := p.serving("engine"); len(left) > 0 {
				t.Error("the engine still runs")
			}
			p.expectNothing()
		})
	}
}

// halt stops processes, and waits until each of their threads stands still.
func halt(t testing.TB, pids ...int) {
	t.Helper()
	kill(t, unix.SIGSTOP, pids...)
	for _, pid := range pids {
		eventually(t, "all threads stand still", func() string {
			threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
			for _, file := range threads {
				if data, err := os.ReadFile(file); err == nil && !strings.Contains(string(data), "\nState:\tT") {
					return file
				}
			}
			return ""
		})
	}
}

// says sends bytes to the control socket, 200 times, and hangs up or not.
func says(text string, hangUp bool) func(*testing.T, *testPlace) {
	return func(t *testing.T, p *testPlace) {
		for range 200 {
			conn, err := net.Dial("unix", filepath.Join(p.state(), "a", "control"))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write([]byte(text))
			if hangUp {
				conn.Close()
			} else {
				t.Cleanup(func() { conn.Close() })
			}
		}
	}
}

// inSmallRun runs a script of sh where /run is a file system of a few pages and
// inodes. Root in a user namespace of ours, where we are not root, does as well.
func inSmallRun(t *testing.T, p *testPlace, options, script string) (string, error) {
	t.Helper()
	defer p.expectNothing()
	args := []string{"--mount", "--propagation", "private"}
	if os.Getuid() != 0 {
		args = append(args, "--map-root-user")
	}
	mount := fmt.Sprintf("set -e; mount -t tmpfs -o %s tmpfs /run; fill() { dd if=/dev/zero of=/run/fill bs=4096 2>/dev/null || :; }\n", options)
	cmd := exec.Command("unshare", append(args, "sh", "-c", mount+script)...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+p.run)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestFullStateFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	const up = `
		if netlab up a.hcl >out 2>&1; then
			netlab status; netlab down; echo made
		else
			echo "exit $?"; cat out
		fi
		test ! -e /run/netlab-lab`
	made, refused := 0, 0
	check := func(what, options, script string) {
		t.Helper()
		out, err := inSmallRun(t, p, options, script)
		switch {
		case err != nil:
			t.Errorf("%s: %v\n%s", what, err, out)
		case strings.Contains(out, "made"):
			made++
		case !strings.Contains(out, "exit 4") || !strings.Contains(out, "no space left on device") || !strings.Contains(out, "room in /run/netlab-lab"):
			t.Errorf("%s: %s", what, out)
		default:
			refused++
		}
	}
	for inodes := 1; inodes <= 8; inodes++ {
		check(fmt.Sprintf("%d inodes", inodes), fmt.Sprintf("size=1m,nr_inodes=%d", inodes), up)
	}
	for _, pages := range []int{0, 1, 2, 5, 200} {
		check(fmt.Sprintf("%d free pages", pages), "size=2m",
			fmt.Sprintf("fill; truncate -s -%d /run/fill\n", 4096*pages)+up)
	}
	if made < 2 || refused < 4 {
		t.Errorf("%d labs were made and %d refused", made, refused)
	}
}

func TestUpdateWithAFullStateFolderChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	out, err := inSmallRun(t, p, "size=2m", `
		netlab up a.hcl
		fill
		netlab up --var replicas=3 a.hcl || echo "exit $?"
		netlab plan --diff a.hcl
		netlab status
		rm /run/fill
		netlab up --var replicas=3 a.hcl
		netlab down
		test ! -e /run/netlab-lab`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"no space left", "exit 4", "a: no change", "a: as planned", "2 network namespaces created", "a is down"} {
		_, after, ok := strings.Cut(out, want)
		if !ok {
			t.Fatalf("%q is missing, or not in this order; left was:\n%s", want, out)
		}
		out = after
	}
}
