//go:build linux

package cell

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal while a socket is handed over loses it: of 30,000 sockets a dozen, when an engine gets
// thousands of signals a second.
func TestNothingDisturbsASocketThatIsHandedOver(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	blocked := func() bool {
		var none, now unix.Sigset_t
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, &none, &now); err != nil {
			t.Fatal(err)
		}
		return now.Val[0]&(1<<(unix.SIGURG-1)) != 0
	}
	inside := false
	if !undisturbed(func() bool { inside = blocked(); return true }) || !inside || blocked() {
		t.Errorf("blocked inside: %v, afterwards: %v", inside, blocked())
	}
}
