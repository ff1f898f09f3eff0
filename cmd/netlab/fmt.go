package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/scenarios/language/source"
)

type fmtOptions struct{ check, diff bool }

func fmtCommand(u ui) *cobra.Command {
	var o fmtOptions
	c := &cobra.Command{
		Use:   "fmt [FILE…]",
		Short: "Rewrite scenarios in the canonical format",
		Long: `Rewrite scenarios in the canonical format, and print the names of those that changed.
Takes files and folders (default: this one); - formats standard input.

` + command.Folders,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "-" {
				return u.formatStdin()
			}
			paths, err := u.Find(command.OrHere(args))
			if err != nil {
				return err
			}
			var files []string
			for _, path := range paths {
				parts, err := source.Parts(path)
				if err != nil {
					return command.Usage(err, "name a folder that you can read")
				}
				files = append(files, parts...)
			}
			return u.format(files, o)
		},
	}
	c.Flags().BoolVar(&o.check, "check", false, "write nothing; exit 1 when a file would change")
	c.Flags().BoolVar(&o.diff, "diff", false, "print the differences, write nothing")
	return c
}

func (u ui) formatStdin() error {
	_, out, diags, err := u.formatted(source.Stdin, func() ([]byte, error) { return source.ReadLimited(u.In) })
	if err != nil {
		return err
	}
	if diags.HasErrors() {
		_ = diags.WriteText(u.Errs, command.Colour(u.Errs))
		return command.Told(command.ExitInvalid)
	}
	_, err = u.Text().Write(out)
	return err
}

// formatted reads and formats one file. Its diagnostics name the path.
func (u ui) formatted(path string, read func() ([]byte, error)) (src, out []byte, diags source.Diagnostics, err error) {
	progress := &source.Progress{}
	err = u.Bounded(progress, func() (err error) {
		src, err = read()
		var outside *source.OutsideError
		switch {
		case errors.As(err, &outside):
			return command.Usage(fmt.Errorf("%s leads to %s", path, outside.Path), "name that file itself")
		case err != nil:
			return command.Usage(fmt.Errorf("%s: %s", path, source.Reason(err)), "name a scenario file")
		}
		out, diags = source.Format(path, src, progress)
		return nil
	})
	return src, out, diags, err
}

func (u ui) format(paths []string, o fmtOptions) error {
	changed, failed := false, false
	for _, path := range paths {
		if strings.HasSuffix(path, ".json") {
			continue // JSON has no canonical form here
		}
		if _, err := os.Stat(path); err == nil && !source.IsScenarioAt(path) {
			return command.Usage(fmt.Errorf("%s does not end in .hcl", path), "name a scenario file")
		}
		src, out, diags, err := u.formatted(path, func() ([]byte, error) {
			return source.Folders{Dir: filepath.Dir(path)}.Read(filepath.Base(path))
		})
		if err != nil {
			return err
		}
		if diags.HasErrors() {
			_ = diags.WriteText(u.Errs, command.Colour(u.Errs))
			failed = true
			continue
		}
		if bytes.Equal(src, out) {
			continue
		}
		changed = true
		u.Print("%s\n", path)
		if o.diff {
			u.Print("%s", lineDiff(string(src), string(out)))
		}
		if !o.check && !o.diff {
			if err := os.WriteFile(path, out, 0o666); err != nil {
				return command.Broken(fmt.Errorf("write %w", err), "check the permissions of the file")
			}
		}
	}
	switch {
	case failed:
		return command.Told(command.ExitInvalid)
	case changed && o.check:
		return command.Told(command.ExitFailed)
	}
	return nil
}

// lineDiff shows the lines that formatting changes. It never adds or removes
// lines, except blank ones at the end.
func lineDiff(a, b string) string {
	var out strings.Builder
	old, new := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(old), len(new)) {
		x, y := at(old, i), at(new, i)
		if x != y {
			fmt.Fprintf(&out, "@@ %d\n-%s\n+%s\n", i+1, x, y)
		}
	}
	return out.String()
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
