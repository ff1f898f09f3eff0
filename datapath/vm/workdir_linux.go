package vm

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// workPrefix begins the folder names of running machines.
const workPrefix = "netlab-vm-"

// staleAfter is the age at which a folder without an owner is removed by others:
// between being created and locked it has none.
const staleAfter = time.Minute

// workDir creates a folder whose path is short enough for socket names. done removes
// it. The folder is locked as long as this process lives; those of killed processes are
// removed here.
func workDir() (dir string, done func(), err error) {
	base := os.TempDir()
	if len(base) > 60 {
		base = "/tmp"
	}
	removeStale(base)
	if dir, err = os.MkdirTemp(base, workPrefix); err != nil {
		return "", nil, err
	}
	lock, ok := lockFolder(dir)
	return dir, func() {
		os.RemoveAll(dir)
		if ok {
			unix.Close(lock)
		}
	}, nil
}

// lockFolder locks a folder until its descriptor is closed, unless it is already
// locked.
func lockFolder(dir string) (fd int, ok bool) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, false
	}
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		unix.Close(fd)
		return -1, false
	}
	return fd, true
}

// removeStale removes our own folders whose owner was killed.
func removeStale(base string) {
	found, _ := filepath.Glob(filepath.Join(base, workPrefix+"*"))
	for _, dir := range found {
		var s unix.Stat_t
		if unix.Lstat(dir, &s) != nil || int(s.Uid) != os.Geteuid() || time.Since(time.Unix(s.Mtim.Unix())) < staleAfter {
			continue
		}
		if lock, ok := lockFolder(dir); ok {
			os.RemoveAll(dir)
			unix.Close(lock)
		}
	}
}
