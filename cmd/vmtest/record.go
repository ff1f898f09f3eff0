package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/feature"
)

// Test is how one test ended.
type Test struct {
	Package string  `json:"package"` // import path
	Name    string  `json:"name"`    // with its parents: TestA/b
	Status  status  `json:"status"`
	Seconds float64 `json:"seconds"`
	Output  string  `json:"output,omitempty"` // unless it passed
}

// status is how a test ended, as go test -json names it.
type status string

const (
	passed  status = "pass"
	failed  status = "fail"
	skipped status = "skip"
)

// lacking matches the skip reason of every test that the kernel cannot run, with the
// missing features: "this machine lacks what the lab needs: ip_vs (why)".
var lacking = regexp.MustCompile(`this (?:machine|kernel) lacks(.*)`)

// lacks reports whether the test was skipped for something that this kernel lacks.
func (t Test) lacks() bool { return t.Status == skipped && lacking.MatchString(t.Output) }

// features are the names of the missing features, or of what else is missing.
func (t Test) features() []string {
	m := lacking.FindStringSubmatch(t.Output)
	if m == nil {
		return nil
	}
	var names []string
	for _, f := range feature.All() {
		begins := strings.HasPrefix(m[1], " "+string(f)+":")
		if begins || strings.Contains(m[1], ": "+string(f)+" (") || strings.Contains(m[1], "), "+string(f)+" (") {
			names = append(names, string(f))
		}
	}
	if other, _, found := strings.Cut(m[1], ":"); found && len(names) == 0 {
		names = append(names, strings.TrimSpace(other))
	}
	return names
}

// testEvent is a line of go test -json (go doc test2json).
type testEvent struct {
	Action     string
	Package    string
	ImportPath string // instead of Package, while it is built (go help buildjson)
	Test       string
	Elapsed    float64
	Output     string
}

// follow reads the events of go test -json. Each test is reported when it ends; a
// package is reported as a test without a name, with what was printed outside tests.
func follow(r io.Reader, ended func(Test)) error {
	printed := map[[2]string]*strings.Builder{}
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var e testEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("go test -json: %w: %s", err, line)
		}
		e.Package = cmp.Or(e.Package, e.ImportPath)
		key := [2]string{e.Package, e.Test}
		if printed[key] == nil {
			printed[key] = &strings.Builder{}
		}
		e.Action = strings.TrimPrefix(e.Action, "build-")
		switch e.Action {
		case "output":
			printed[key].WriteString(e.Output)
		case string(passed), string(failed), string(skipped):
			t := Test{Package: e.Package, Name: e.Test, Status: status(e.Action), Seconds: e.Elapsed}
			if t.Name == "" && t.Status == failed {
				t.Output = unfinished(printed, e.Package)
			}
			if t.Status != passed || t.Name == "" {
				t.Output += printed[key].String()
			}
			delete(printed, key)
			ended(t)
		}
	}
}

// unfinished is the output of the tests during which a package's program exited.
func unfinished(printed map[[2]string]*strings.Builder, pkg string) string {
	var out strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(printed), func(a, b [2]string) int { return cmp.Compare(a[1], b[1]) }) {
		if key[0] == pkg && key[1] != "" {
			out.WriteString(printed[key].String())
		}
	}
	return out.String()
}

// parseLog reads what a test binary prints with -test.v.
func parseLog(ctx context.Context, pkg string, log io.Reader) (list []Test, err error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-p", pkg)
	cmd.Stdin = log
	events, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go tool test2json: %w", err)
	}
	err = follow(bytes.NewReader(events), func(t Test) {
		if t.Name != "" {
			list = append(list, t)
		}
	})
	return list, err
}
