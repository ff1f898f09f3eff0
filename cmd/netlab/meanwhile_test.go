//go:build linux

package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/netlab/netlab/cmd/netlab/command"
)

// What goes on in a lab while another command removes or changes it says so, and that it is not
// its own fault.
func TestCommandsSayThatTheirLabWentMeanwhile(t *testing.T) {
	t.Parallel()
	const never = small + `
pod "slow" {
  node    = node.node1
  command = ["sleep", "1000"]
  ready {
    exec   = ["false"]
    within = "60s"
  }
}
`
	const silent = small + `
expect "nothing answers, for long" {
  from    = pod.shell
  to      = "10.99.0.1:80"
  outcome = "timeout"
  within  = "60s"
}
`
	changes := func(p *testPlace) bool { return strings.Contains(p.netlab("ps"), "changing") }
	dials := func(p *testPlace) bool { return p.dials("shell") }
	for name, row := range map[string]struct {
		file   string
		is     func(*testPlace) bool // at work
		does   []string
		undoes []string
		says   []string
	}{
		"up":                      {never, changes, []string{"up", "a.hcl"}, []string{"down", "a"}, []string{"netlab: a: the lab went down meanwhile\n", "bring it up again: netlab up a.hcl"}},
		"exec":                    {"", (*testPlace).sleeps, []string{"exec", "web-0", "--", "sleep", "1000"}, []string{"down", "a"}, []string{"netlab: the lab went down meanwhile\n"}},
		"exec in a pod that goes": {"", (*testPlace).sleeps, []string{"exec", "web-1", "--", "sleep", "1000"}, []string{"up", "a.hcl"}, []string{"netlab: pod.web-1 was removed from the lab meanwhile\n"}},
		"test":                    {silent, dials, []string{"test", "--keep", "a.hcl"}, []string{"down", "a"}, []string{"✗ stays up", "the lab went down meanwhile\n", "a lab could not be built, or broke"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("a.hcl", small)
			if row.file == "" {
				p.netlab("up", "--var", "replicas=2", "a.hcl")
			} else {
				p.write("a.hcl", row.file)
			}
			cmd := p.command(row.does...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			fine(t, cmd.Start())
			eventually(t, "it is at work", func() string {
				if !row.is(p) {
					return strings.Join(append(p.processes(), p.netlab("ps")), "\n")
				}
				return ""
			})
			p.netlab(row.undoes...)
			_ = cmd.Wait() // the status says it
			if status := cmd.ProcessState.ExitCode(); status != command.ExitBroken {
				t.Errorf("exit status %d, want %d", status, command.ExitBroken)
			}
			for _, text := range row.says {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is not in:\n%s", text, &out)
				}
			}
			p.netlab("down", "a")
			p.expectNothing()
		})
	}
}

// dials reports a connection that a pod is opening.
func (p *testPlace) dials(pod string) bool {
	cmd := p.command("exec", pod, "--", "ss", "-Htn", "state", "syn-sent")
	out, err := cmd.Output()
	_, installed := exec.LookPath("ss")
	return installed == nil && err == nil && len(bytes.TrimSpace(out)) > 0
}
