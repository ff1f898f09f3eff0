//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/cmd/netlab/command"
)

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
		{"only the file of its processes deleted", without("pids"), "running"},
		{"engine stopped", stop, "let it go on: kill -CONT "},
		{"janitor stopped", func(t *testing.T, p *testPlace) { halt(t, p.serving("janitor")...) }, "running"},
		{"engine stopped and file deleted", func(t *testing.T, p *testPlace) { stop(t, p); without("pids")(t, p) }, "let it go on: kill -CONT "},
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

// A stopped engine is found within three seconds, and named.
func TestStoppedEngineIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	p.netlab("up", "a.hcl")
	engines := p.serving("engine")
	halt(t, engines...)
	for _, args := range [][]string{{"status", "a"}, {"up", "a.hcl"}, {"exec", "web-0", "true"}, {"inspect", "a"}, {"rules", "a"}, {"logs", "web-0"}} {
		out, err := p.command(args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != command.ExitBroken || !strings.Contains(string(out), "is stopped; let it go on: kill -CONT ") {
			t.Errorf("netlab %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	kill(t, unix.SIGCONT, engines...)
	if out := p.netlab("status", "a"); out != "a: as planned\n" {
		t.Errorf("netlab status: %s", out)
	}
	p.netlab("down", "a")
	p.expectNothing()
}

// halt stops processes, and waits until all of their threads have stopped.
func halt(t testing.TB, pids ...int) {
	t.Helper()
	kill(t, unix.SIGSTOP, pids...)
	for _, pid := range pids {
		eventually(t, "all threads have stopped", func() string {
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
// inodes. Root in a user namespace of ours, where we are not root, works, too.
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
