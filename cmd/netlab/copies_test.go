//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netlab/netlab/cmd/netlab/command"
)

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
	p.write("a.hcl", "this is not a scenario {{{")
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
	if r.status != command.ExitInvalid || !strings.Contains(r.err, filepath.Join(p.dir, "one/a.hcl")) ||
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
		if results[0].status+results[1].status != command.ExitInvalid {
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
	moments(10, life, func(after time.Duration) bool {
		first := p.command("up", "a.hcl")
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		killed, ended := make(chan struct{}), false
		go func() {
			defer close(killed)
			time.Sleep(after)
			_ = first.Process.Kill()
			ended = first.Wait() == nil
		}()
		out := p.netlab("up", "a.hcl")
		<-killed
		p.netlab("status", "a")
		if got := p.netlab("down", "a"); got != "a is down\n" {
			t.Errorf("up said %q, then down %q", out, got)
		}
		p.expectNothing()
		return ended
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
