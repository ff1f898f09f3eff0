package labs

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/term"

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

	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	_ = pty.InheritSize(os.Stdin, master)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-resized:
				_ = pty.InheritSize(os.Stdin, master)
			case <-ended:
				return
			}
		}
	}()

	before, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		slave.Close()
		return 0, fmt.Errorf("terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(os.Stdin.Fd()), before) }()
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
