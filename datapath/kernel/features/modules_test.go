//go:build linux

package features

import (
	"maps"
	"slices"
	"testing"
	"testing/fstest"
)

// A module can be loaded where it is installed for the running kernel, not loaded yet, and
// the kernel loads modules at all.
func TestLoadable(t *testing.T) {
	machine := fstest.MapFS{
		"proc/modules":                {Data: []byte("bridge 1 0 - Live 0\n")},
		"sys/module/bridge/refcnt":    {},
		"lib/modules/6.1/modules.dep": {Data: []byte("kernel/net/ip_vs.ko.xz: kernel/net/nf_conntrack.ko.xz\nkernel/net/bridge.ko:\nkernel/net/sch-netem.ko:\n")},
	}
	without := func(file string) fstest.MapFS {
		m := maps.Clone(machine)
		delete(m, file)
		return m
	}
	for name, test := range map[string]struct {
		root            fstest.MapFS
		release, module string
		want            bool
	}{
		"installed":             {machine, "6.1", "ip_vs", true},
		"with a hyphen":         {machine, "6.1", "sch_netem", true},
		"loaded":                {machine, "6.1", "bridge", false},
		"only a dependency":     {machine, "6.1", "nf_conntrack", false},
		"of another kernel":     {machine, "6.2", "ip_vs", false},
		"no loadable modules":   {without("proc/modules"), "6.1", "ip_vs", false},
		"as in most containers": {without("lib/modules/6.1/modules.dep"), "6.1", "ip_vs", false},
	} {
		if got := loadable(test.root, test.release, test.module); got != test.want {
			t.Errorf("%s: %v of %v", name, got, slices.Sorted(maps.Keys(test.root)))
		}
	}
}
