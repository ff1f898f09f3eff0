package machine

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

	"github.com/netlab/netlab/cmd/netlab/command"
)

func TestFlagsOfTheUserGoIntoTheMachine(t *testing.T) {
	u := command.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	var got []string
	root := &cobra.Command{Use: "netlab"}
	root.PersistentFlags().BoolP("verbose", "v", false, "")
	root.PersistentFlags().Duration("timeout", 0, "")
	root.AddCommand(Command(u))
	vmCmd, _, err := root.Find([]string{"vm", "test"})
	if err != nil {
		t.Fatal(err)
	}
	vmCmd.RunE = func(c *cobra.Command, _ []string) error {
		got = flagsInside(c)
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
	for _, name := range []string{"lab.hcl", "other.hcl", "all.auto.vars.hcl", "notes.txt", "parts/a.hcl", "parts/b.hcl.json", "parts/x.auto.vars.hcl", "parts/deep/c.hcl",
		"one.lab/a.hcl", "one.lab/b.hcl.json", "one.lab/x.auto.vars.hcl", "one.lab/deep/c.hcl"} {
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
		"parts":   {"parts/a.hcl", "parts/b.hcl.json", "parts/deep/c.hcl", "parts/x.auto.vars.hcl"},
		"one.lab": {"one.lab/a.hcl", "one.lab/b.hcl.json", "one.lab/x.auto.vars.hcl"},
	} {
		w, err := ui{command.New(nil, nil, nil)}.bring(t.Context(), []string{filepath.Join(dir, path)}, command.ScenarioFlags{}, func(*command.UI) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, file := range w.boot.Files {
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
	u := command.New(strings.NewReader(""), &bytes.Buffer{}, &errs)
	lab := filepath.Join(dir, "labs/lab.hcl")
	flags := command.ScenarioFlags{AllowPaths: []string{dir}}
	w, err := ui{u}.bring(t.Context(), []string{lab}, flags, func(quiet *command.UI) error {
		_, err := quiet.Load(lab, flags)
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
