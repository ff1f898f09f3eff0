package source

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Find expands files, globs and folders into the paths of scenarios, for Load. A
// folder is one scenario when it holds parts: when one of its files has no node of
// its own. Otherwise every file in it is a scenario, and so are those in the folders
// below it, a few levels deep, except hidden ones and testdata. "-" stays as it is.
func Find(paths []string) ([]string, error) {
	var all []string
	for _, p := range paths {
		found, err := find(p)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func find(p string) ([]string, error) {
	info, err := os.Stat(p)
	switch {
	case p == "-":
		return []string{p}, nil
	case err == nil && info.IsDir():
		return inFolder(p, depth)
	case err != nil && strings.ContainsAny(p, "*?["):
		matched, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", p, err)
		}
		if len(matched) == 0 {
			return nil, fmt.Errorf("no file matches %q", p)
		}
		return Find(matched)
	default:
		return []string{p}, nil // Load reports what is wrong with it
	}
}

// FindIn is Find for a folder without those below it.
func FindIn(dir string) ([]string, error) { return inFolder(dir, 0) }

// depth is how many levels of folders are searched below one: enough for any tree of
// scenarios, and not the whole machine.
const depth = 4

func inFolder(dir string, depth int) ([]string, error) {
	found, err := below(dir, depth)
	if err == nil && len(found) == 0 {
		return nil, fmt.Errorf("no scenario (*.hcl, *.hcl.json) in %s", dir)
	}
	return found, err
}

// below is Find for a folder: its own scenarios first, then those of each folder in it.
func below(dir string, depth int) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	var files, folders []string
	whole := true
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if depth > 0 && !strings.HasPrefix(e.Name(), ".") && e.Name() != "testdata" {
				folders = append(folders, path)
			}
		case isScenarioFile(e.Name()):
			files = append(files, path)
			src, err := os.ReadFile(path)
			whole = whole && err == nil && hasNode(src)
		}
	}
	if !whole && len(files) > 1 {
		return []string{dir}, nil
	}
	for _, folder := range folders {
		list, err := below(folder, depth-1)
		if err != nil {
			return nil, err
		}
		files = append(files, list...)
	}
	return files, nil
}

func isScenarioFile(name string) bool {
	return IsScenario(name) && !strings.Contains(name, ".auto.vars.hcl") && !strings.HasPrefix(name, ".")
}

var nodeBlock = regexp.MustCompile(`(?m)^\s*(node\s+["a-zA-Z]|dynamic\s+"?node"?\s|"node"\s*:|.*"node"\s*:)`)

// hasNode reports whether a file looks like it has a node block. It need not
// parse: a broken file is still a scenario of its own.
func hasNode(src []byte) bool { return nodeBlock.Match(src) }
