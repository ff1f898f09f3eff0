package command

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// NeedTerminal complains where standard input is not a terminal.
func NeedTerminal() error {
	if !IsTerminal(os.Stdin) {
		return Usage(errors.New("standard input is not a terminal"), "leave out -t")
	}
	return nil
}

// LendTerminal makes the user's terminal raw, and reports when its size changes. The
// function that it returns, to be called once, ends that.
func LendTerminal(resized func()) (giveBack func(), err error) {
	fd := int(os.Stdin.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	signals, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-signals:
				resized()
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		_ = term.Restore(fd, before)
	}, nil
}
