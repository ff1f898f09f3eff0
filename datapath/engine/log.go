//go:build linux

package engine

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// openLog opens what an engine writes its standard error to: the file in the folder of
// its lab or, for a lab without one, memory. The process that started the engine keeps
// it, to read the engine's last words after it has died and its folder is gone.
func openLog(f *folder) (*os.File, error) {
	if f == nil {
		fd, err := unix.MemfdCreate("engine log", unix.MFD_CLOEXEC)
		if err != nil {
			return nil, fmt.Errorf("log: %w", os.NewSyscallError("memfd_create", err))
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_APPEND)
		return os.NewFile(uintptr(fd), "engine log"), err
	}
	log, err := os.OpenFile(f.path(logFile), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: log: %w", ErrState, unwrapAll(err))
	}
	return log, nil
}

// lost is the error of a request whose connection ended early: its cause is the last
// line of the engine's log, or else the error of the connection. ErrEnded itself means that
// the engine said nothing: it was told to end, or killed.
func (c *Client) lost(err error) error {
	if c.log != nil {
		log, _ := io.ReadAll(io.NewSectionReader(c.log, 0, math.MaxInt64))
		if limit := limitIn(string(log)); limit != "" {
			return &LimitError{limit, ErrEnded}
		}
		if words := lastWords(string(log)); words != "" {
			return fmt.Errorf("%w: %s", ErrEnded, words)
		}
	}
	if limit := outOfMemory(c.memory); limit != "" {
		return &LimitError{limit, ErrEnded}
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, unix.ECONNRESET, unix.EPIPE} {
		if errors.Is(err, end) {
			return ErrEnded // it says the same
		}
	}
	return fmt.Errorf("%w: %w", ErrEnded, err)
}

// logPrefix begins each line that an engine writes.
const logPrefix = "netlab engine: "

// lastWords returns why an engine died, from its log: its last line or, if the Go
// runtime ended it, the reason with the stack of the goroutine that failed.
func lastWords(log string) string {
	begin := -1
	for _, word := range []string{logPrefix, "panic: ", "fatal error: ", "runtime: "} {
		if strings.HasPrefix(log, word) {
			begin = max(begin, 0)
		}
		if i := strings.LastIndex(log, "\n"+word); i >= 0 {
			begin = max(begin, i+1)
		}
	}
	if begin < 0 {
		return ""
	}
	words := strings.TrimPrefix(log[begin:], logPrefix)
	const goroutine = "\n\ngoroutine "
	if i := strings.Index(words, goroutine); i >= 0 {
		if j := strings.Index(words[i+1:], goroutine); j >= 0 {
			words = words[:i+1+j]
		}
	}
	return strings.TrimSpace(words)
}
