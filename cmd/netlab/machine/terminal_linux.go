package machine

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/vm"
)

// lentTerminal is the user's terminal while a machine has it: keys go in raw, and
// the size follows.
type lentTerminal struct {
	fd    int
	sizes chan vm.Size
	ended chan struct{}

	mu     sync.Mutex
	before *term.State // nil: not lent
	over   bool
}

func newLentTerminal() (*lentTerminal, error) {
	if !command.IsTerminal(os.Stdin) {
		return nil, command.Usage(errors.New("standard input is not a terminal"), "leave out -t")
	}
	return &lentTerminal{fd: int(os.Stdin.Fd()), sizes: make(chan vm.Size, 1), ended: make(chan struct{})}, nil
}

func (t *lentTerminal) size() vm.Size {
	cols, rows, err := term.GetSize(t.fd)
	if err != nil {
		return vm.Size{Rows: 24, Cols: 80}
	}
	return vm.Size{Rows: uint16(rows), Cols: uint16(cols)}
}

// lend makes the terminal raw and follows its size.
func (t *lentTerminal) lend() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	before, err := term.MakeRaw(t.fd)
	if err != nil {
		return // input comes line by line then
	}
	t.before = before
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-signals:
				select {
				case t.sizes <- t.size():
				default:
				}
			case <-t.ended:
				return
			}
		}
	}()
}

// giveBack restores the terminal.
func (t *lentTerminal) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	close(t.ended)
	if t.before != nil {
		_ = term.Restore(t.fd, t.before)
	}
}
