package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// realVariable is the folder with the programs of Kubernetes that make test-real builds.
const realVariable = "NLAB_TEST_REAL"

// TestReal runs the scripts of testdata/real: kubectl and kube-proxy as they are, against labs.
func TestReal(t *testing.T) {
	dir := os.Getenv(realVariable)
	for _, program := range []string{"kubectl", "kube-proxy"} {
		_, err := exec.LookPath(filepath.Join(dir, program))
		switch {
		case dir == "":
			t.Skip(program + " is not built: make test-real")
		case err != nil:
			t.Fatalf("%s: %v", realVariable, err)
		}
	}
	runScripts(t, "testdata/real", dir)
}
