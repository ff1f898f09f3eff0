package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// onHost runs the tests of packages here, reports how each package ended, and appends
// every test to the record.
func onHost(ctx context.Context, record string, flags, paths []string) error {
	if err := os.MkdirAll(filepath.Dir(record), 0o777); err != nil {
		return err
	}
	notes, err := os.OpenFile(record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer notes.Close()
	// Packages run one at a time: their tests have deadlines, and would slow each other
	// down. They are compiled in parallel beforehand; go test reports what does not
	// compile.
	_ = exec.CommandContext(ctx, "go", append([]string{"list", "-export", "-deps", "-test"}, paths...)...).Run()
	args := append([]string{"test", "-count=1", "-json", "-timeout", "20m", "-p", "1"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, paths...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	write := json.NewEncoder(notes)
	var noted error
	wrong := follow(out, func(t Test) {
		show(t)
		if t.Name == "" {
			t.Output = "" // already shown; tests have their own
		}
		noted = errors.Join(noted, write.Encode(t))
	})
	return errors.Join(wrong, noted, cmd.Wait(), notes.Close())
}

// show prints what matters to a reader: failures in full, for packages the last line.
func show(t Test) {
	switch {
	case t.Name != "" && t.Status == failed:
		fmt.Print(t.Output)
	case t.Name == "" && t.Status == failed:
		fmt.Print(t.Output)
		fmt.Printf("FAIL\t%s\n", t.Package)
	case t.Name == "" && t.Status == passed:
		fmt.Printf("ok  \t%s\t%.3fs\n", t.Package, t.Seconds)
	case t.Name == "":
		fmt.Printf("?   \t%s\t%s\n", t.Package, strings.TrimSpace(t.Output))
	}
}

// readRecords reads what onHost wrote.
func readRecords(files []string) ([]Test, error) {
	var list []Test
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var t Test
			if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
				f.Close()
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			list = append(list, t)
		}
		f.Close()
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return list, nil
}
