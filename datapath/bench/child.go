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
	Sets  []string // the same for ipset restore
	Edit  string   // such a file for a change on the first node; empty: none
	Maps  string   // instead: a file with services whose maps are loaded there

	dir string // of the files
}

// serveFloor builds, reports it, waits for a line, makes the edit if there is one,
// reports it and waits again, tears down, and reports that.
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
	edit, err := o.edit()
	if err != nil {
		return err
	}
	f := &floor{order: o}
	if err := f.build(); err != nil {
		return err
	}
	fmt.Println("built")
	lines := bufio.NewReader(os.Stdin)
	if _, err := lines.ReadString('\n'); err != nil {
		return err
	}
	if edit != nil {
		if err := edit(f.nodes[0].fd); err != nil {
			return err
		}
		fmt.Println("edited")
		if _, err := lines.ReadString('\n'); err != nil {
			return err
		}
	}
	if err := f.close(); err != nil {
		return err
	}
	fmt.Println("closed")
	return nil
}

// edit is what to do in a node when everything is built; nil: nothing.
func (o *order) edit() (func(node int) error, error) {
	switch {
	case o.Edit != "":
		return func(node int) error { return restoreIn(node, o.Edit, "iptables-restore", "--noflush") }, nil
	case o.Maps != "":
		var list []service
		text, err := os.ReadFile(o.Maps)
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		return func(node int) error {
			if err := unix.Setns(node, unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("setns: %w", err)
			}
			return loadMaps(list)
		}, err
	}
	return nil, nil
}

// runFloor times the floor: from the start of its process until everything exists, for
// the edit, and from the order to tear it down until its links are gone.
func runFloor(o order) (t sample, err error) {
	spec, err := json.Marshal(o)
	if err != nil {
		return t, err
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
		return t, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return t, err
	}
	lines := bufio.NewReader(out)
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return t, err
	}
	err = expectLine(lines, "built")
	t.up = time.Since(started)
	next := func(answer string) time.Duration {
		started := time.Now()
		if err == nil {
			if _, err = io.WriteString(in, "go on\n"); err == nil {
				err = expectLine(lines, answer)
			}
		}
		return time.Since(started)
	}
	if o.Edit+o.Maps != "" {
		t.edit = next("edited")
	}
	t.down = next("closed")
	in.Close()
	return t, errors.Join(err, cmd.Wait())
}

func expectLine(r *bufio.Reader, want string) error {
	line, err := r.ReadString('\n')
	if err == nil && strings.TrimSpace(line) != want {
		err = fmt.Errorf("the floor reports %q, not %q", line, want)
	}
	return err
}
