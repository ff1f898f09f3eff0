//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// host is the state of the machine itself, which no lab may change.
type host map[string]string

// views are the commands whose output must not change.
var views = []string{
	"ip -details link", "ip addr", "ip route show table all", "ip -6 route show table all", "ip rule", "ip -6 rule",
	"ip neigh show nud permanent", "bridge fdb", "nft list ruleset", "iptables-save", "ip6tables-save", "ip netns list",
}

// changing are settings that are counters, or change by themselves or by packets
// that have nothing to do with labs.
var changing = regexp.MustCompile(`/(nf_conntrack_count|nf_conntrack_max|nf_conntrack_buckets|somaxconn)$|` +
	`/(tcp_mem|udp_mem|tcp_fastopen_key|stable_secret|route/flush|bpf_jit_limit)$`)

// counters of iptables-save, and lifetimes of addresses, change with time.
var counters = regexp.MustCompile(`\[\d+:\d+\]|# (Generated|Completed).*|(valid_lft|preferred_lft|expires) \S+`)

func lookAtHost(t testing.TB) host {
	t.Helper()
	h := host{}
	for _, view := range views {
		argv := strings.Fields(view)
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if os.Getuid() != 0 && err != nil {
			continue // not visible to ordinary users
		}
		h[view] = counters.ReplaceAllString(string(out), "")
	}
	_ = filepath.WalkDir("/proc/sys/net", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !changing.MatchString(path) {
			if data, err := os.ReadFile(path); err == nil {
				h[path] = string(data)
			}
		}
		return nil
	})
	for _, file := range []string{"/proc/self/mountinfo", "/etc/hosts", "/etc/resolv.conf"} {
		data, _ := os.ReadFile(file)
		h[file] = string(data)
	}
	for _, dir := range []string{"/run", "/run/netns", "/var/run/netns", "/run/netlab-lab"} {
		h[dir] = fmt.Sprint(namesIn(dir))
	}
	return h
}

func namesIn(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var list []string
	for _, e := range entries {
		// Labs of the user come and go.
		if e.Name() != "netlab-lab" && e.Name() != "xtables.lock" {
			list = append(list, e.Name())
		}
	}
	return list
}

// untouched compares the machine before and after a test.
func untouched(t testing.TB) {
	t.Helper()
	before := lookAtHost(t)
	t.Cleanup(func() {
		after := lookAtHost(t)
		for key := range before {
			if after[key] != before[key] {
				t.Errorf("%s changed\n  before: %s\n  after:  %s", key, before[key], after[key])
			}
		}
		for key := range after {
			// A kernel module that the first lab loaded brings settings along.
			if _, ok := before[key]; !ok && !strings.HasPrefix(key, "/proc/sys/net/") {
				t.Errorf("%s is new", key)
			}
		}
	})
}
