package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestFlagsOfTheUserGoIntoTheMachine(t *testing.T) {
	u := newUI(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	var got []string
	root := rootCommand(u)
	vmCmd, _, err := root.Find([]string{"vm", "test"})
	if err != nil {
		t.Fatal(err)
	}
	vmCmd.RunE = func(c *cobra.Command, _ []string) error {
		got = u.flagsInside(c)
		return nil
	}
	root.SetArgs([]string{"vm", "--memory", "512", "test", "--junit", "a b.xml", "--timeout", "3s", "-v", "--focus", "x,y", "--focus", "z", "--cpus=1", "lab.hcl"})
	if err := root.ExecuteContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{"--focus=x,y", "--focus=z", "--junit=a b.xml", "--verbose=true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestScenariosGoIntoTheMachineWithWhatTheyRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lab.hcl", "other.hcl", "all.auto.vars.hcl", "notes.txt", "parts/a.hcl", "parts/b.hcl.json", "parts/x.auto.vars.hcl", "parts/deep/c.hcl"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		"lab.hcl": {"all.auto.vars.hcl", "lab.hcl"},
		"parts":   {"parts/a.hcl", "parts/b.hcl.json", "parts/x.auto.vars.hcl"},
	} {
		var got []string
		for _, file := range belonging(filepath.Join(dir, path)) {
			got = append(got, strings.TrimPrefix(file, dir+"/"))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", path, diff)
		}
	}
}

// Files that expressions read can be anywhere.
func TestFilesThatAScenarioReadsGoAlong(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"labs/lab.hcl": "locals {\n  a = file(\"../a.txt\")\n  b = templatefile(\"${\"b\"}.tpl\", {})\n}\nnode \"n\" {}\npod \"p\" { env = { A = local.a, B = local.b } }\n",
		"a.txt":        "a", "labs/b.tpl": "b",
	} {
		if err := os.MkdirAll(filepath.Join(dir, "labs"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var errs bytes.Buffer
	u := newUI(strings.NewReader(""), &bytes.Buffer{}, &errs)
	lab := filepath.Join(dir, "labs/lab.hcl")
	w, err := u.bring([]string{lab}, scenarioFlags{}, func(quiet *ui) error {
		_, err := quiet.load(lab, scenarioFlags{})
		return err
	})
	if err != nil {
		t.Fatalf("%v %s", err, &errs)
	}
	want := []string{filepath.Join(dir, "a.txt"), filepath.Join(dir, "labs/b.tpl"), lab}
	if diff := cmp.Diff(want, w.boot.Files); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProfilesOfATestComeBack(t *testing.T) {
	got := profiles([]string{"-test.v", "-test.coverprofile=/tmp/c.out", "--test.cpuprofile=cpu", "-test.run=x", "-test.trace="})
	if want := []string{"/tmp/c.out", "cpu"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

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
			code := run(t.Context(), row.args, strings.NewReader(""), &bytes.Buffer{}, &errs)
			if code != exitInvalid || !strings.Contains(errs.String(), row.want) {
				t.Errorf("exit %d, want %d; %q is not in:\n%s", code, exitInvalid, row.want, errs.String())
			}
		})
	}
}
