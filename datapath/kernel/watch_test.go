//go:build linux

package kernel

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Neighbours and forwarding entries that are not read again are repaired all the same.
func TestWatchedNeighboursAreRepaired(t *testing.T) {
	for name, damage := range map[string]string{
		"removed":                  "ip neigh flush dev flannel.1 nud permanent",
		"another address":          "ip neigh replace 10.244.12.0 lladdr 02:00:00:00:00:77 dev flannel.1 nud permanent",
		"no longer permanent":      "ip neigh replace 10.244.12.0 lladdr 02:00:00:00:00:05 dev flannel.1 nud stale",
		"one too many":             "ip neigh add 10.244.13.0 lladdr 02:00:00:00:00:77 dev flannel.1 nud permanent",
		"a forwarding entry":       "bridge fdb del 02:00:00:00:00:05 dev flannel.1 dst 192.168.0.12",
		"a forwarding entry more":  "bridge fdb append 02:00:00:00:00:77 dev flannel.1 dst 192.168.0.77 self permanent",
		"more than the buffer has": "for i in $(seq 1 200); do echo neigh add 10.9.0.$i lladdr 02:00:00:00:00:77 dev flannel.1 nud permanent; done | ip -b -",
	} {
		t.Run(name, func(t *testing.T) {
			want := small()
			k := applied(t, want)
			k.few = 1
			quiet := func() bool { return k.spaces["node.n1"].neighs.quiet() && k.spaces["node.n2"].neighs.quiet() }
			again := func(changed string) {
				t.Helper()
				changes, err := k.Apply(t.Context(), want)
				if err != nil || edited(changes) != changed {
					t.Fatalf("%v, changed %q, want %q:\n%s", err, edited(changes), changed, strings.Join(changes.Lines(), "\n"))
				}
			}
			// The kernel's own changes are seen, too, and do no harm.
			settle := func() {
				t.Helper()
				for deadline := time.Now().Add(10 * time.Second); ; {
					again("")
					if quiet() {
						return
					}
					if time.Now().After(deadline) {
						t.Fatal("nothing changes, but it is not quiet")
					}
				}
			}
			settle()
			ns, err := k.Namespace("node.n1")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run(ns, exec.Command("sh", "-c", damage)); err != nil {
				t.Fatal(err)
			}
			again("node.n1")
			settle()
			asPlanned(t, k, want)
		})
	}
}
