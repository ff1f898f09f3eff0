//go:build linux

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// In a plain chroot the root is not a mount point, so an engine cannot make its mounts
// private. It dies, and its last output is the error message: for a lab with a folder,
// which is gone by then, and for one without.
func TestTheLastOutputOfTheEngineIsTheMessage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	// The folder that netlab sees as /run is mounted here: it could not do so itself.
	const chroot = `
		set -e
		mount -t tmpfs root "$NLAB_TEST_ROOT"
		mkdir "$NLAB_TEST_ROOT/chroot"
		cd "$NLAB_TEST_ROOT/chroot"
		for d in /*; do
			if [ -L "$d" ]; then cp -P "$d" .; elif [ -d "$d" ]; then mkdir ".$d"; mount --rbind "$d" ".$d"; fi
		done
		mount --bind "$` + runVariable + `" ./run
		unset ` + runVariable + `
		exec chroot . "$0" "$@"`
	for _, verb := range []string{"up", "test"} {
		args := []string{"--mount", "--propagation", "private"}
		if os.Getuid() != 0 {
			args = append(args, "--map-root-user")
		}
		cmd := exec.Command("unshare", append(args, "sh", "-c", chroot, "sh", "-c", "cd "+p.dir+" && exec netlab "+verb+" a.hcl")...)
		cmd.Env = append(p.env, "NLAB_TEST_ROOT="+t.TempDir())
		r := p.finish(cmd)
		const words = "the lab went down meanwhile: make mounts private: / is not a mount point, as in a plain chroot"
		if r.status == 0 || !strings.Contains(r.out+r.err, words) || strings.Contains(r.err, "reset by peer") {
			t.Errorf("netlab %s: exit status %d\n%s%s", verb, r.status, r.out, r.err)
		}
	}
	p.expectNothing()
}
