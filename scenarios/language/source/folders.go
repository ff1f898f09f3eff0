package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Folders are where the files of a scenario may be: its own folder, and those that the user
// allows besides. What a scenario names, or a symbolic link in its folder, leads nowhere else.
type Folders struct {
	Dir   string
	Allow []string
}

// Read reads a file by its path from the scenario's folder.
func (f Folders) Read(path string) ([]byte, error) { return f.read(path, MaxFile) }

func (f Folders) read(path string, limit int64) ([]byte, error) {
	root, inside, err := f.Open(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(inside, readOnly, 0)
	return readOpened(file, err, limit)
}

// Open opens the folder that a path is in: the scenario's, or one that the user allows. It
// returns the path from there. Nobody can lead out of the folder meanwhile.
func (f Folders) Open(path string) (root *os.Root, inside string, err error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(Absolute(f.Dir), path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, "", err
	}
	for _, dir := range append([]string{f.Dir}, f.Allow...) {
		dir, err := filepath.EvalSymlinks(Absolute(dir))
		if err != nil {
			continue // nothing is in a folder that is not there
		}
		if inside, err := filepath.Rel(dir, real); err == nil && filepath.IsLocal(inside) {
			root, err := os.OpenRoot(dir)
			return root, inside, err
		}
	}
	return nil, "", &OutsideError{real}
}

// OutsideError means that a path leads out of the folders.
type OutsideError struct{ Path string }

func (e *OutsideError) Error() string {
	return "it is outside of the scenario's folder. If you trust the scenario with it: --allow-path " + filepath.Dir(e.Path)
}

// ReadFile reads a file that the user named.
func ReadFile(path string) ([]byte, error) { return readFile(path, MaxFile) }

func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, readOnly, 0)
	return readOpened(f, err, limit)
}

// readOnly opens without waiting: a pipe would wait for its other end.
const readOnly = os.O_RDONLY | syscall.O_NONBLOCK

// readOpened reads a regular file of limited size: a device or a pipe would never end.
func readOpened(f *os.File, err error, limit int64) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// One that can be waited for is no plain file either, whatever it calls itself: /proc/kmsg.
	if !info.Mode().IsRegular() || f.SetReadDeadline(time.Time{}) == nil {
		return nil, errors.New("not a regular file")
	}
	return readLimited(f, limit)
}

// ReadLimited reads what is no larger than a file of a scenario may be.
func ReadLimited(r io.Reader) ([]byte, error) { return readLimited(r, MaxFile) }

func readLimited(r io.Reader, limit int64) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(src)) > limit {
		return nil, fmt.Errorf("larger than %d bytes", limit)
	}
	return src, err
}

// IsScenarioAt reports whether a path leads to a file that is named as a scenario, also behind
// symbolic links: only lines of such files are quoted.
func IsScenarioAt(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && IsScenario(real)
}
