//go:build linux

package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// limitedGroup makes a control group that may have so many bytes.
func limitedGroup(t *testing.T, most int) string {
	t.Helper()
	if os.Getuid() != 0 || inUserNamespace() {
		t.Skip("not root: control groups cannot be made")
	}
	why := errors.New("none are mounted at /sys/fs/cgroup")
	for _, kind := range [][2]string{{"/sys/fs/cgroup", "memory.max"}, {"/sys/fs/cgroup/unified", "memory.max"}, {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}} {
		if _, err := os.Stat(filepath.Join(kind[0], "cgroup.procs")); err != nil {
			continue
		}
		_ = os.WriteFile(filepath.Join(kind[0], "cgroup.subtree_control"), []byte("+memory"), 0o644) // of version 2
		group, err := os.MkdirTemp(kind[0], "netlab-test-")
		if err == nil {
			t.Cleanup(func() { _ = os.Remove(group) })
			err = os.WriteFile(filepath.Join(group, kind[1]), fmt.Append(nil, most), 0o644)
		}
		if err == nil {
			return group
		}
		why = err
	}
	t.Skipf("this machine lacks control groups for memory: %v", why)
	return ""
}

// An engine that the kernel kills for want of memory is reported as that, with the limit; one
// that somebody kills is not.
func TestAnEngineWithoutMemoryIsNamed(t *testing.T) {
	group := limitedGroup(t, 24<<20)
	var rules []iptables.Rule
	for i := range 300_000 {
		rules = append(rules, iptables.Rule{Raw: fmt.Sprintf("-m comment --comment \"rule %d of many, each with a text of its own\" -j RETURN", i)})
	}
	large := &plan.Plan{Lab: "large", Netns: []plan.Netns{{Name: "node.n", Kind: plan.Node, Tables: []iptables.Table{{Name: "filter", Chains: []iptables.Chain{{Name: "MANY", Rules: rules}}}}}}}
	for _, limited := range []bool{true, false} {
		lab, err := Start(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(lab.Abandon)
		pid := lab.cmd.Process.Pid
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, pid), 0o644); err != nil {
			t.Fatal(err)
		}
		lab.memory = memoryLimits(pid)
		if !limited {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		_, err = lab.Apply(t.Context(), large, Meta{}, false)
		var limit *LimitError
		if !errors.Is(err, ErrEnded) || errors.As(err, &limit) != limited || limited && !strings.Contains(err.Error(), "which may have 24 MB; raise it as root: echo ") {
			t.Errorf("limited is %v: %v", limited, err)
		}
	}
}
