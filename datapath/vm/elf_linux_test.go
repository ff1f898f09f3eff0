package vm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestProgramsComeWithTheirLibraries(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	needed, err := hostLibraries().closure([]string{shell})
	if err != nil {
		t.Fatal(err)
	}
	isLinker := func(p string) bool { return strings.Contains(filepath.Base(p), "ld-") }
	isC := func(p string) bool { return strings.HasPrefix(filepath.Base(p), "libc.") }
	if !slices.ContainsFunc(needed, isLinker) || !slices.ContainsFunc(needed, isC) {
		t.Errorf("%s needs %q: neither linker nor C library", shell, needed)
	}

	// The same program without its libraries.
	root := t.TempDir()
	if err := copyFile(root+"/sh", shell); err != nil {
		t.Fatal(err)
	}
	_, err = (&libraries{root: root, dirs: []string{"/lib"}}).closure([]string{"/sh"})
	if err == nil || !strings.Contains(err.Error(), "no library lib") {
		t.Errorf("a missing library gives %v", err)
	}
}

func TestScriptsNeedNoLibraries(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"/script": "#!/bin/sh\necho a long enough script\n", "/short": "x", "/empty": ""} {
		if err := os.WriteFile(root+name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		needed, err := (&libraries{root: root}).closure([]string{name})
		if err != nil || len(needed) > 0 {
			t.Errorf("%s: %q, %v", name, needed, err)
		}
	}
}

func TestFoldersOfTheLinkerAreRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("ld.so.conf", "# comment\ninclude "+dir+"/*.d\n/opt/last\n")
	write("one.d", "/opt/one # here\n")
	l := &libraries{}
	l.configured(filepath.Join(dir, "ld.so.conf"), 0)
	if want := []string{"/opt/one", "/opt/last"}; !slices.Equal(l.dirs, want) {
		t.Errorf("got %q, want %q", l.dirs, want)
	}
}
