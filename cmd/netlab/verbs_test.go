package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
)

// unscripted are the verbs without a session in testdata/script, and why.
var unscripted = map[string]string{
	"bench": "takes minutes", "fmt": "tested with the files of testdata", "shell": "needs a terminal", "version": "prints what the build says",
	"vm": "needs a virtual machine",
}

// A verb has a file, a line in main.go or in kernel.go and kernel_linux.go, a place in
// README.md, a session in testdata/script, and says what it is for.
func TestEveryVerbIsWhereItMustBe(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "labs/*.go", "proof/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	made := []string{"vm"} // by a function of its own
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			verb, ok := strings.CutSuffix(fn.Name.Name, "Command")
			if ok && verb != "root" {
				made = append(made, strings.ToLower(verb))
			}
		}
	}
	if len(made) < 15 {
		t.Fatalf("found %d verbs only", len(made))
	}
	var buf bytes.Buffer
	root := rootCommand(command.New(&buf, &buf, &buf))
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var table, sessions string
	for line := range strings.Lines(string(readme)) {
		if strings.HasPrefix(line, "| ") {
			table += line
		}
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sessions += string(text)
	}
	for _, c := range root.Commands() {
		if c.Short == "" {
			t.Errorf("%s: no Short: for verbs that need Linux it stands in kernel.go", c.Name())
		}
		if c.Name() != "version" && !strings.Contains(table, "`"+c.Name()+"`") && !strings.Contains(table, "`"+c.Name()+" ") {
			t.Errorf("%s: the table of verbs in README.md lacks it", c.Name())
		}
		if unscripted[c.Name()] == "" && !strings.Contains(sessions, "netlab "+c.Name()) {
			t.Errorf("%s: no session in testdata/script uses it", c.Name())
		}
	}
	for _, verb := range made {
		if !slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == verb }) {
			t.Errorf("%s: add its command to main.go, or, when it needs Linux, to kernel.go and to kernel_linux.go or labs/labs_linux.go", verb)
		}
	}
}
