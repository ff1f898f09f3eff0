package vm

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestFilesAreCopiedBack(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	report := filepath.Join(from, "reports", "junit.xml")
	if err := os.MkdirAll(filepath.Dir(report), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(report, []byte("<ok/>"), 0o644); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := pack(&archive, []string{filepath.Join(from, "reports"), filepath.Join(from, "never-written")}); err != nil {
		t.Fatal(err)
	}
	if err := unpack(&archive, to); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(to, report))
	if err != nil || string(got) != "<ok/>" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := os.Remove(report); err != nil {
		t.Fatal(err)
	}
	if err := bringBack(to, []string{filepath.Join(from, "reports"), filepath.Join(from, "never-written")}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(report); err != nil || string(got) != "<ok/>" {
		t.Errorf("at its original path: %q, %v", got, err)
	}
}

func TestArchivesStayInTheirFolder(t *testing.T) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: "../outside", Typeflag: tar.TypeReg, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "in")
	if err := unpack(&archive, dir); err == nil {
		t.Error("a name that leads outside is accepted")
	}
	if _, err := os.Stat(filepath.Join(dir, "..", "outside")); err == nil {
		t.Error("a file was written outside")
	}
}
