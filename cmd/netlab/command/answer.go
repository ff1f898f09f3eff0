package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
)

// answer is standard output: it remembers the first write that failed, so that no verb has to.
type answer struct {
	io.Writer
	failed atomic.Pointer[error]
}

func (a *answer) Write(p []byte) (int, error) {
	n, err := a.Writer.Write(p)
	if err != nil {
		a.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// unwritten is the error of a command whose answer was lost, whatever it was.
func (u *UI) unwritten() error {
	a, ok := u.Out.(*answer)
	if !ok || a.failed.Load() == nil {
		return nil
	}
	err := *a.failed.Load()
	var at *fs.PathError // /dev/stdout says nothing to the user
	if errors.As(err, &at) {
		err = at.Err
	}
	return Broken(fmt.Errorf("the answer cannot be written to standard output: %w", err), "make room where it goes, or send it elsewhere")
}
