package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Streams are where the output of a boot's jobs goes. In is read only for a job with a
// terminal.
type Streams struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Resized <-chan Size // of the user's terminal
	// Ready is called before the first job, with the time since power on; may be nil.
	Ready    func(time.Duration)
	Progress func(o Outcome) // called after each; may be nil
}

// Size is that of a terminal.
type Size struct{ Rows, Cols uint16 }

const (
	// bootPatience is how long a machine may take to boot and to shut down, in addition
	// to its jobs: an emulated one on a busy host needs a quarter of it.
	bootPatience = 60 * time.Second
	// readyPatience is how long any machine may take to boot, even if its jobs have no
	// limit.
	readyPatience = 3 * bootPatience
	// quitPatience is how long a command may take to print its stacks.
	quitPatience = 5 * time.Second
)

// ErrNoAnswer means that a machine ended, or had to be ended, before its jobs were
// done.
var ErrNoAnswer = errors.New("the virtual machine did not respond")

// Run boots a machine, runs the jobs in it, and powers it off. An error means that it
// could not be run at all; how the jobs ended, and whether the guest survived, is in
// the result. A cancelled context switches the machine off.
func Run(ctx context.Context, m Machine, b Boot, s Streams) (Result, error) {
	e, err := emulatorOf(runtime.GOARCH)
	if err != nil {
		return Result{}, &MissingError{err.Error(), "use a machine with one of them"}
	}
	program, err := findProgram(e.program)
	if err != nil {
		return Result{}, &MissingError{e.program + " is not installed", installHint(e.program)}
	}
	const elsewhere = "name another folder for temporary files: TMPDIR=FOLDER netlab vm …"
	dir, done, err := workDir()
	if err != nil {
		return Result{}, &MissingError{err.Error(), elsewhere}
	}
	defer done()
	t, err := image(m, b)
	if err != nil {
		return Result{}, err
	}
	initrd, err := writeImage(t, dir)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return Result{}, &MissingError{err.Error(), elsewhere}
	case err != nil:
		return Result{}, err
	}
	defer initrd.Close()
	if err := m.room(initrd); err != nil {
		return Result{}, err
	}
	home := b.Artifacts
	if home == "" {
		b.Artifacts = filepath.Join(dir, "files")
	}
	r := &running{boot: b, streams: s, result: Result{Jobs: make([]Outcome, 0, len(b.Jobs))}}
	if err := r.listen(dir); err != nil {
		return Result{}, err
	}
	defer r.close()
	ctx, asleep := context.WithCancelCause(ctx)
	defer asleep(nil)
	alarm := time.AfterFunc(cmp.Or(m.Patience, readyPatience), func() { asleep(ErrNoAnswer) })
	defer alarm.Stop()
	r.up = func() { alarm.Stop() }
	limit := cmp.Or(m.Patience, bootPatience)
	for _, j := range b.Jobs {
		if j.Limit == 0 {
			limit = 0
			break
		}
		limit += j.Limit + quitPatience
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, ErrNoAnswer)
		defer cancel()
	}
	cmd := emulate(program, initrd, e.arguments(m, dir, initrdPath, initRun, ports()))
	err = r.boots(ctx, cmd)
	console, _ := os.ReadFile(filepath.Join(dir, "console"))
	r.result.Console = printable(console)
	if err == nil && home == "" {
		err = bringBack(b.Artifacts, b.Collect)
	}
	return r.result, err
}

// TooSmallError means that the files of a machine do not fit into its memory.
type TooSmallError struct{ Files, Least int } // in MiB

func (e *TooSmallError) Error() string {
	return fmt.Sprintf("the machine's files take %d MiB, for which it needs %d MiB of memory", e.Files, e.Least)
}

// room reports whether an initramfs fits. It is in memory twice while it is unpacked,
// and the resulting file system gets half of what the kernel and the packed one leave
// (Documentation/filesystems/ramfs-rootfs-initramfs.rst, tmpfs.rst).
func (m Machine) room(initrd *os.File) error {
	info, err := initrd.Stat()
	if err != nil {
		return err
	}
	const ofKernel = 64
	files := int(info.Size() >> 20)
	if least := 3*files + ofKernel; m.MemoryMiB < least {
		return &TooSmallError{files, least}
	}
	return nil
}

// initrdPath is where the emulator finds its initramfs: the first file that it
// inherits after the standard ones.
const initrdPath = "/proc/self/fd/3"

// emulate is the command that runs QEMU: with an input that stays open and empty, in
// its own process group, so that only we get ctrl-C, and killed when we die.
func emulate(program string, initrd *os.File, args []string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.ExtraFiles = []*os.File{initrd}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// boots runs the machine to its end.
func (r *running) boots(ctx context.Context, cmd *exec.Cmd) error {
	silent, hold, err := os.Pipe()
	if err != nil {
		return err
	}
	defer hold.Close()
	defer silent.Close()
	var complaints strings.Builder
	cmd.Stdin, cmd.Stderr = silent, &complaints
	r.started = time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", cmd.Path, err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	r.serve()
	select {
	case err = <-gone:
	case <-ctx.Done():
		_ = cmd.Process.Kill() // nothing in it has to be saved
		<-gone
		err = nil
	}
	r.close()
	r.workers.Wait() // the emulator has ended, so every connection ends, too
	r.result.Total = time.Since(r.started)
	switch {
	case r.broken != nil:
		return r.broken
	case r.result.Ended:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%s: %w: %s", cmd.Path, err, strings.TrimSpace(complaints.String()))
	}
	return nil
}

// printable is the console output without the firmware's escape sequences.
func printable(console []byte) string {
	var b strings.Builder
	for line := range strings.Lines(strings.ToValidUTF8(string(console), "")) {
		line = escapes.ReplaceAllString(strings.TrimRight(line, "\r\n"), "")
		if strings.TrimSpace(line) != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
