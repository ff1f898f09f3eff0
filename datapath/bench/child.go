//go:build linux

package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// order is what the floor is told to build.
type order struct {
	Shape Shape
	Rules []string // files with the input of iptables-restore, one per node; empty: none
}

// serveFloor builds, says so, waits for a line, takes down, and says so.
func serveFloor(spec string) error {
	runtime.LockOSThread()
	var o order
	if err := json.Unmarshal([]byte(spec), &o); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	texts := make([][]byte, len(o.Rules))
	for i, file := range o.Rules {
		var err error
		if texts[i], err = os.ReadFile(file); err != nil {
			return err
		}
	}
	var rules func(int) []byte
	if len(texts) > 0 {
		rules = func(node int) []byte { return texts[node] }
	}
	f := &floor{shape: o.Shape}
	if err := f.build(rules); err != nil {
		return err
	}
	fmt.Println("built")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	if err := f.close(); err != nil {
		return err
	}
	fmt.Println("closed")
	return nil
}

// runFloor times the floor: from the start of its process until all is there, and
// from the word to take it down until its links are gone.
func runFloor(o order) (up, down time.Duration, err error) {
	spec, err := json.Marshal(o)
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), floorVariable+"="+string(spec))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	lines := bufio.NewReader(out)
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	err = expectLine(lines, "built")
	up = time.Since(started)
	if err == nil {
		started = time.Now()
		if _, err = io.WriteString(in, "down\n"); err == nil {
			err = expectLine(lines, "closed")
		}
		down = time.Since(started)
	}
	in.Close()
	return up, down, errors.Join(err, cmd.Wait())
}

func expectLine(r *bufio.Reader, want string) error {
	line, err := r.ReadString('\n')
	if err == nil && strings.TrimSpace(line) != want {
		err = fmt.Errorf("the floor says %q, not %q", line, want)
	}
	return err
}
