//go:build unix

package language

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/netlab/netlab/datapath"
)

// A scenario reads below its own folder, and where the user allows it to. What it must not read
// is not quoted.
func TestFilesStayInTheFoldersOfTheScenario(t *testing.T) {
	const secret = "root:$6$hidden:19000:0:99999:7:::"
	dir := t.TempDir()
	lab, other := filepath.Join(dir, "lab"), filepath.Join(dir, "other")
	for name, text := range map[string]string{
		"lab/plain.txt": "plain", "lab/below/deep.txt": "deep", "other/shadow": secret + "\n", "other/words.txt": "words", "other/part.hcl": "node \"part\" {}\n",
		"other/list.hcl": "x = nothing\n", "other/x.auto.vars.hcl": "v = \"auto\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"inside.txt": "plain.txt", "out.txt": "../other/words.txt", "folder": "../other", "shadow.hcl": "../other/shadow", "part.hcl": "../other/part.hcl",
		"x.auto.vars.hcl": "../other/x.auto.vars.hcl", "zero.txt": "/dev/zero",
	} {
		if err := os.Symlink(to, filepath.Join(lab, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(lab, "pipe.txt"), 0o666); err != nil {
		t.Fatal(err)
	}
	const outside = "outside of the scenario's folder"
	for _, c := range []struct{ path, allow, want, wrong string }{
		{path: "plain.txt", want: "plain"},
		{path: "below/deep.txt", want: "deep"},
		{path: "below/../plain.txt", want: "plain"},
		{path: filepath.Join(lab, "plain.txt"), want: "plain"},
		{path: "inside.txt", want: "plain"},
		{path: "../other/words.txt", wrong: outside},
		{path: "../other/words.txt", allow: other, want: "words"},
		{path: filepath.Join(other, "words.txt"), wrong: outside},
		{path: filepath.Join(other, "words.txt"), allow: dir, want: "words"},
		{path: "out.txt", wrong: outside},
		{path: "out.txt", allow: other, want: "words"},
		{path: "folder/words.txt", wrong: outside},
		{path: "/etc/passwd", wrong: outside},
		{path: "/proc/kmsg", wrong: outside},
		{path: "/proc/self/environ", wrong: outside},
		{path: "zero.txt", wrong: outside},
		{path: "zero.txt", allow: "/dev", wrong: "not a regular file"},
		{path: "/proc/kmsg", allow: "/proc", wrong: "/proc/kmsg"}, // it waits, or is forbidden
		{path: "pipe.txt", wrong: "not a regular file"},
		{path: "below", wrong: "not a regular file"},
		{path: "missing.txt", wrong: "no such file"},
	} {
		if err := os.Remove(filepath.Join(lab, "x.auto.vars.hcl")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		main := filepath.Join(lab, "main.hcl")
		for _, read := range []string{`file("` + c.path + `")`, `templatefile("` + c.path + `", {})`} {
			if err := os.WriteFile(main, []byte("node \"n\" { labels = { x = trimspace("+read+") } }\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			s, diags := Load(main, Options{Catalogue: datapath.Catalogue(), Allow: []string{c.allow}})
			text := diagnosticsText(diags)
			switch {
			case c.wrong != "" && (!diags.HasErrors() || !strings.Contains(text, c.wrong)):
				t.Errorf("%s, allowed %q: got %q, want %q", read, c.allow, text, c.wrong)
			case c.want != "" && (diags.HasErrors() || s.Lab.Nodes[0].Labels["x"] != c.want):
				t.Errorf("%s, allowed %q: got %v %q, want %q", read, c.allow, s.Lab.Nodes[0].Labels, text, c.want)
			}
		}
	}
	if err := os.Symlink("../other/x.auto.vars.hcl", filepath.Join(lab, "x.auto.vars.hcl")); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(lab, "main.hcl")
	if err := os.WriteFile(plain, []byte("variable \"v\" { default = \"1\" }\nnode \"n\" {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		opts Options
		want string // "": it is valid
	}{
		"a scenario that is a link to a secret":    {path: filepath.Join(lab, "shadow.hcl"), want: "Not a scenario file"},
		"a scenario that is a link to a scenario":  {path: filepath.Join(lab, "part.hcl"), opts: Options{Allow: []string{other}}},
		"a part that is a link to elsewhere":       {path: lab, want: outside},
		"variables that are a link to elsewhere":   {path: plain, want: outside},
		"variables in a file of passwords":         {path: plain, opts: Options{Allow: []string{other}, VarFiles: []string{filepath.Join(other, "shadow")}}, want: "Cannot read variables"},
		"variables behind a link to passwords":     {path: plain, opts: Options{Allow: []string{other}, VarFiles: []string{filepath.Join(lab, "shadow.hcl")}}, want: "Cannot read variables"},
		"variables in a file that is no scenario":  {path: plain, opts: Options{Allow: []string{other}, VarFiles: []string{"/etc/passwd"}}, want: "Cannot read variables"},
		"variables in a pipe":                      {path: plain, opts: Options{Allow: []string{other}, VarFiles: []string{filepath.Join(lab, "pipe.txt")}}, want: "not a regular file"},
		"variables in a scenario that is readable": {path: plain, opts: Options{Allow: []string{other}, VarFiles: []string{filepath.Join(other, "list.hcl")}}},
	} {
		c.opts.Catalogue = datapath.Catalogue()
		_, diags := Load(c.path, c.opts)
		text := diagnosticsText(diags)
		if diags.HasErrors() != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: got\n%s\nwant %q", name, text, c.want)
		}
		if strings.Contains(text, "hidden") || strings.Contains(text, "root:") {
			t.Errorf("%s: a line of a secret is quoted:\n%s", name, text)
		}
	}
}
