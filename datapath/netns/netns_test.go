//go:build linux

package netns_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
)

// inode identifies a network namespace.
func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func create(t *testing.T) *netns.NS {
	t.Helper()
	thread := netns.NewThread()
	defer thread.Close()
	var ns *netns.NS
	if err := thread.Run(func(h netns.Here) (err error) {
		ns, err = h.Create()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

func TestDoRunsInsideTheNamespace(t *testing.T) {
	ns := create(t)
	outside := inode(t, "/proc/thread-self/ns/net")
	var inside uint64
	if err := ns.Do(func() error { inside = inode(t, "/proc/thread-self/ns/net"); return nil }); err != nil {
		t.Fatal(err)
	}
	var want unix.Stat_t
	if err := unix.Fstat(ns.FD(), &want); err != nil {
		t.Fatal(err)
	}
	if inside != want.Ino || inside == outside {
		t.Errorf("Do ran in %d, want %d and not %d", inside, want.Ino, outside)
	}
}

// The main thread cannot be discarded: left in a namespace, it would keep it.
func TestNoThreadStaysBehind(t *testing.T) {
	ns := create(t)
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() { _ = ns.Do(func() error { return nil }) })
	}
	all.Wait()
	var want unix.Stat_t
	if err := unix.Fstat(ns.FD(), &want); err != nil {
		t.Fatal(err)
	}
	// Discarded threads take a moment to disappear.
	deadline := time.Now().Add(5 * time.Second)
	for stayed := threadsIn(t, want.Ino); len(stayed) > 0; stayed = threadsIn(t, want.Ino) {
		if time.Now().After(deadline) {
			t.Fatalf("threads %v of process %d stay in the namespace", stayed, os.Getpid())
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAnIdleThreadReturnsToItsNamespace(t *testing.T) {
	ns := create(t)
	thread := netns.NewThread()
	defer thread.Close()
	if err := thread.Run(func(h netns.Here) error { return h.Enter(ns) }); err != nil {
		t.Fatal(err)
	}
	var want unix.Stat_t
	if err := unix.Fstat(ns.FD(), &want); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for len(threadsIn(t, want.Ino)) > 0 {
		if time.Now().After(deadline) {
			t.Fatal("the thread keeps the namespace alive between its runs")
		}
		time.Sleep(time.Millisecond)
	}
}

func threadsIn(t *testing.T, namespace uint64) []string {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(threads) == 0 {
		t.Fatal("no threads", err)
	}
	var in []string
	for _, thread := range threads {
		var st unix.Stat_t
		if err := unix.Stat(thread+"/ns/net", &st); err == nil && st.Ino == namespace {
			in = append(in, filepath.Base(thread))
		}
	}
	return in
}

func TestAClosedNamespaceCannotBeEntered(t *testing.T) {
	ns := create(t)
	ns.Close()
	if err := ns.Do(func() error { t.Error("ran anyway"); return nil }); err == nil {
		t.Error("no error")
	}
}
