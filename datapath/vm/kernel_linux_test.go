package vm

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissingSpaceForAKernelIsReportedBeforeDownload(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kernels")
	work, err := roomFor(dir, 1)
	if err != nil || filepath.Dir(work) != dir {
		t.Errorf("%q %v", work, err)
	}
	if _, err := roomFor(dir, math.MaxInt64); err == nil || !strings.Contains(err.Error(), "free, but") {
		t.Errorf("too large: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := roomFor(filepath.Join(file, "kernels"), 1); err == nil {
		t.Error("a folder in a file")
	}
}
