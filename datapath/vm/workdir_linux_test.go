package vm

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestFoldersOfKilledMachinesAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folder := func(name string, age time.Duration) string {
		dir := filepath.Join(os.TempDir(), name)
		at := time.Now().Add(-age)
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "console"), nil, 0o600)
		}
		if err == nil {
			err = os.Chtimes(dir, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	killed, young := folder(workPrefix+"killed", time.Hour), folder(workPrefix+"young", 0)
	running, other := folder(workPrefix+"running", time.Hour), folder("something-else", time.Hour)
	lock, ok := lockFolder(running)
	if !ok {
		t.Fatal("a folder cannot be locked")
	}
	defer unix.Close(lock)
	own, done, err := workDir()
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{killed: false, young: true, running: true, other: true, own: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there is %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
	if lock, free := lockFolder(own); free {
		unix.Close(lock)
		t.Error("our own folder is not locked")
	}
	done()
	if _, err := os.Stat(own); err == nil {
		t.Error("our own folder is not removed")
	}
}
