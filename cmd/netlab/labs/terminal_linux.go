package labs

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/creack/pty"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
)

// withTerminal runs a command on a terminal of its own, which the user's mirrors:
// keys go in raw, and the size follows.
func withTerminal(ctx context.Context, lab *engine.Client, cmd engine.Command) (int, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return 0, fmt.Errorf("open a terminal: %w", err)
	}
	defer master.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.TTY = slave, slave, slave, true
	resize := func() { _ = pty.InheritSize(os.Stdin, master) }
	giveBack, err := command.LendTerminal(resize)
	if err != nil {
		slave.Close()
		return 0, err
	}
	defer giveBack()
	resize()
	// This reader ends with the process: a read of a terminal cannot be stopped.
	go func() { _, _ = io.Copy(master, os.Stdin) }()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, _ = io.Copy(os.Stdout, master)
	}()
	status, err := lab.Exec(ctx, cmd)
	slave.Close() // the last open end: what was written is read, then the copy ends
	<-shown
	return status, err
}
