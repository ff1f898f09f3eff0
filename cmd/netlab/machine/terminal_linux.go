package machine

import (
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/vm"
)

// atTerminal lends the job the user's terminal from the moment when the machine is
// ready; before that, keys still go to netlab.
func atTerminal(job *vm.Job, streams *vm.Streams) (end func(), err error) {
	if err := command.NeedTerminal(); err != nil {
		return nil, err
	}
	sizes := make(chan vm.Size, 1)
	job.Rows, job.Cols = size().Rows, size().Cols
	streams.In, streams.Resized = os.Stdin, sizes
	before := streams.Ready
	var mu sync.Mutex
	over, giveBack := false, func() {}
	streams.Ready = func(after time.Duration) {
		before(after)
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		back, err := command.LendTerminal(func() {
			select {
			case sizes <- size():
			default:
			}
		})
		if err == nil { // else input comes line by line
			giveBack = back
		}
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		giveBack()
	}, nil
}

func size() vm.Size {
	cols, rows, err := term.GetSize(int(os.Stdin.Fd()))
	if err != nil {
		return vm.Size{Rows: 24, Cols: 80}
	}
	return vm.Size{Rows: uint16(rows), Cols: uint16(cols)}
}
