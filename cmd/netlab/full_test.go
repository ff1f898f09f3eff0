//go:build linux

package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
)

// silent are the verbs that write no answer of their own here, and why.
var silent = map[string]string{
	"exec": "the program writes, and its status counts", "kubectl": "the program writes, and its status counts",
	"shell": "the program writes, and its status counts", "bench": "takes minutes",
	"vm test": "needs a virtual machine", "vm up": "needs a virtual machine", "vm exec": "needs a virtual machine", "vm shell": "needs a virtual machine",
	"vm go-test": "needs a virtual machine", "vm clean": "removes what others use",
}

// talkative is a lab about which every verb has something to say.
const talkative = small + `
pod "speaker" {
  node    = node.node1
  command = ["sh", "-c", "echo hello; exec sleep 1000"]
}
`

// An answer that cannot be written is lost, whichever verb has it.
func TestFullStandardOutputIsBroken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", strings.Replace(talkative, "type    =", "type =", 1)) // fmt has something to say, too
	p.netlab("up", "a.hcl")
	eventually(t, "the program has spoken", func() string {
		if out := p.netlab("logs"); !strings.Contains(out, "hello") {
			return out + "nothing"
		}
		return ""
	})
	p.write("m.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n")
	read := map[string]string{"netlab import": "import m.yaml"}
	for args, c := range loading() {
		read[c.CommandPath()] = args
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "netlab ")
		args := path
		switch {
		case !c.Runnable() || silent[path] != "" || path == "down":
			args = ""
		case path == "netlab":
			args = "--help"
		case read[c.CommandPath()] != "":
			args = read[c.CommandPath()]
		}
		if args != "" {
			p.fills(args)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	root := rootCommand(command.New(strings.NewReader(""), io.Discard, io.Discard))
	root.InitDefaultCompletionCmd()
	walk(root)
	p.fills("status --json")
	p.fills("validate --json a.hcl")
	p.fills("validate --json missing.hcl")
	p.fills("down")
	p.expectNothing()
}

// fills runs a verb whose standard output is full.
func (p *testPlace) fills(args string) {
	p.t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer full.Close()
	var said strings.Builder
	c := p.command(strings.Fields(args)...)
	c.Stdout, c.Stderr = full, &said
	_ = c.Run() // the status says it
	if status := c.ProcessState.ExitCode(); status != command.ExitBroken || !strings.Contains(said.String(), "no space left on device\n  make room") {
		p.t.Errorf("netlab %s >/dev/full: exit status %d\n%s", args, status, &said)
	}
}
