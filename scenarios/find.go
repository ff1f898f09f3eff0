package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Find expands files, globs and folders into the paths of scenarios, for Load. A
// folder is one scenario when it holds parts: when one of its files has no node of
// its own. Otherwise every file of it is a scenario. "-" stays as it is.
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
		return inFolder(p)
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
		return []string{p}, nil // Load says what is wrong with it
	}
}

func inFolder(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	whole := true
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() || !isScenarioFile(e.Name()) {
			continue
		}
		files = append(files, path)
		src, err := os.ReadFile(path)
		whole = whole && err == nil && hasNode(src)
	}
	slices.Sort(files)
	switch {
	case len(files) == 0:
		return nil, fmt.Errorf("no scenario (*.hcl, *.hcl.json) in %s", dir)
	case !whole && len(files) > 1:
		return []string{dir}, nil
	default:
		return files, nil
	}
}

func isScenarioFile(name string) bool {
	return (strings.HasSuffix(name, ".hcl") || strings.HasSuffix(name, ".hcl.json")) &&
		!strings.Contains(name, ".auto.vars.hcl") && !strings.HasPrefix(name, ".")
}

var nodeBlock = regexp.MustCompile(`(?m)^\s*(node\s+["a-zA-Z]|dynamic\s+"?node"?\s|"node"\s*:|.*"node"\s*:)`)

// hasNode reports whether a file looks like it has a node block. It need not
// parse: a broken file is still a scenario of its own.
func hasNode(src []byte) bool { return nodeBlock.Match(src) }
