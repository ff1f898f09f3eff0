package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netlab/netlab/cmd/netlab/command"
)

// What can be checked without a boot is reported before it.
func TestMistakesAreReportedBeforeAMachineBoots(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong.hcl")
	if err := os.WriteFile(wrong, []byte("node {\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"a file that is wrong", []string{"vm", "test", wrong}, "wrong.hcl:1"},
		{"a file that is not there", []string{"vm", "up", filepath.Join(dir, "no.hcl")}, "no such file"},
		{"labs cannot be kept", []string{"vm", "test", "--keep", wrong}, "netlab vm up FILE"},
		{"no folder for a report", []string{"vm", "test", "--junit", dir + "/no/x.xml", "../../scenarios/local-policy.hcl"}, "no folder"},
		{"half a kernel", []string{"vm", "--kernel", wrong, "exec", "--", "true"}, "belong together"},
		{"a file that is not a kernel", []string{"vm", "--kernel", wrong, "--modules", dir, "exec", "--", "true"}, "modules.dep"},
		{"too little memory", []string{"vm", "--memory", "100", "exec", "--", "true"}, "--memory 256"},
		{"no processor", []string{"vm", "--cpus", "0", "exec", "--", "true"}, "--cpus 1"},
		{"a file to bring that is not there", []string{"vm", "exec", "--file", dir + "/no", "--", "true"}, "name files"},
		{"no folder for what is copied back", []string{"vm", "exec", "--collect", dir + "/no/x", "--", "true"}, "no folder"},
		{"a test with too little memory", []string{"vm", "go-test", "--memory", "100", "x.test", "-test.v"}, "--memory "},
		{"the same, with the flag earlier", []string{"vm", "--memory", "100", "go-test", "x.test", "-test.v"}, "--memory "},
		{"no test", []string{"vm", "--memory", "1000", "go-test"}, "name a test"},
		{"no command", []string{"vm", "exec"}, "usage: netlab vm exec"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var errs bytes.Buffer
			code := run(t.Context(), command.New(strings.NewReader(""), &bytes.Buffer{}, &errs), row.args)
			if code != command.ExitInvalid || !strings.Contains(errs.String(), row.want) {
				t.Errorf("exit %d, want %d; %q is not in:\n%s", code, command.ExitInvalid, row.want, errs.String())
			}
		})
	}
}
