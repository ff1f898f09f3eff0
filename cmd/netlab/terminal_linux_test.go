package main

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// A terminal shows control characters of a scenario, and does not obey them.
func TestATerminalShowsControlCharacters(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("evil.hcl", "node \"node1\" {}\npod \"web\" { command = [\"sh\", \"-c\", \"echo \\u001b[2J; sleep 100\"] }\n")
	// It ends when all was read: the end of a session takes what its terminal still holds.
	cmd := exec.Command("sh", "-c", "netlab plan evil.hcl; echo over; read answer")
	cmd.Dir, cmd.Env = p.dir, p.env
	terminal, err := pty.Start(cmd)
	fine(t, err)
	defer terminal.Close()
	var shown strings.Builder
	for lines := bufio.NewScanner(terminal); lines.Scan() && strings.TrimSpace(lines.Text()) != "over"; {
		shown.WriteString(lines.Text() + "\n")
	}
	_, err = terminal.WriteString("\n")
	fine(t, err)
	fine(t, cmd.Wait())
	if text := shown.String(); !strings.Contains(text, `echo \x1b[2J`) || strings.Contains(text, "\x1b") {
		t.Errorf("the terminal got %q", text)
	}
}
