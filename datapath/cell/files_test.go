//go:build linux

package cell

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPathsOfFilesFollowLinksOfFolders(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir + "/link/new/file": dir + "/new/file",
		dir + "/link/file":     dir + "/file",
		dir + "/link":          dir + "/link", // it is replaced
		"/no-such/folder/x":    "/no-such/folder/x",
	} {
		if got, err := resolved(path); got != want || err != nil {
			t.Errorf("%s is %s (%v), want %s", path, got, err, want)
		}
	}
}
