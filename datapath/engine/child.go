//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/cell"
	"github.com/netlab/netlab/datapath/engine/inside"
)

// Packets on the lifeline.
const (
	lifelineConn   = 'c' // carries one end of a connection
	lifelineDetach = 'd' // the engine is to outlive its creator; answered with the same
)

// Main turns the process into an engine, a janitor, or a program in a cell, if it was
// started as one, and then does not return. Programs that use Start call it first.
func Main() {
	cell.Main()
	role := os.Getenv(roleVariable)
	os.Unsetenv(roleVariable)
	switch role {
	case roleEngine:
		if err := runEngine(); err != nil {
			fmt.Fprintln(os.Stderr, logPrefix+err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	case roleJanitor:
		runJanitor()
		os.Exit(0)
	}
}

// inherited builds the folder from the descriptors that Start passed on.
func inherited(first int) *folder {
	f := &folder{above: os.NewFile(uintptr(first), "above"), root: os.NewFile(uintptr(first+1), "root"),
		dir: os.NewFile(uintptr(first+2), "dir")}
	if f.dir == nil {
		return nil
	}
	if _, err := unix.FcntlInt(f.dir.Fd(), unix.F_GETFD, 0); err != nil {
		return nil // started without a folder
	}
	for _, file := range f.files() {
		unix.CloseOnExec(int(file.Fd()))
	}
	if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.dir.Fd())); err == nil {
		f.name = path[strings.LastIndexByte(path, '/')+1:]
	}
	return f
}

// runEngine serves a lab until it is told to end, or its creator is gone.
func runEngine() error {
	// A plan makes a lot of garbage in a short time, followed by none for hours.
	debug.SetGCPercent(300)
	// Caught, not ignored: programs in the lab would inherit the latter, and could not
	// be interrupted (signal(7), execve(2)).
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var f *folder
	if fd, err := unix.FcntlInt(listenerFD, unix.F_GETFD, 0); err == nil && fd >= 0 {
		f = inherited(aboveFD)
	}
	unix.CloseOnExec(lifelineFD)
	if err := inside.Furnish(); err != nil {
		return err
	}
	e, err := newEngine(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	e.quit = cancel
	go e.lifeline(ctx, os.NewFile(lifelineFD, "lifeline"))
	if f != nil {
		unix.CloseOnExec(listenerFD)
		file := os.NewFile(listenerFD, "listener")
		l, err := net.FileListener(file)
		file.Close()
		if err != nil {
			return err
		}
		go e.listen(l)
	}
	go inside.Reap(ctx)
	go e.drain(ctx)
	<-ctx.Done()
	e.shutdown()
	return nil
}

// lifeline is the connection to the creator of the lab: it carries connections, and its
// end ends the engine, unless the creator has detached.
func (e *engine) lifeline(ctx context.Context, line *os.File) {
	buf, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(int(line.Fd()), buf, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		switch buf[0] {
		case lifelineDetach:
			e.detached.Store(true)
			_, _ = line.Write(buf)
		case lifelineConn:
			for _, file := range received(oob[:oobn], "control") {
				if conn, err := net.FileConn(file); err == nil {
					go e.serve(conn.(*net.UnixConn), true)
				}
				file.Close()
			}
		}
	}
	if !e.detached.Load() {
		e.quit()
	}
}

// received are the files that came with a message.
func received(oob []byte, name string) (files []*os.File) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(msgs) == 0 {
		return nil
	}
	fds, _ := unix.ParseUnixRights(&msgs[0])
	for _, fd := range fds {
		unix.CloseOnExec(fd)
		files = append(files, os.NewFile(uintptr(fd), name))
	}
	return files
}
