package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find expands files, globs and folders into the paths of scenarios, for Load. A folder
// named *.lab is one scenario, and its files are parts of it. In any other folder every file
// is a scenario, and so are those in the folders below it, a few levels deep, except hidden
// ones and testdata; a folder without any that has manifests is one scenario. "-" stays as it is.
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
	_, err := os.Stat(p)
	switch {
	case p == "-":
		return []string{p}, nil
	case IsFolder(p):
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

// FindIn is Find for a folder without those below it that are not scenarios themselves.
func FindIn(dir string) ([]string, error) { return inFolder(dir, 0) }

// depth is how many levels of folders are searched below one: enough for any tree of
// scenarios, and not the whole machine.
const depth = 4

// maxEntries is how many files and folders are looked at below one: those of many repositories,
// but not of a whole disk.
const maxEntries = 20_000

func inFolder(dir string, depth int) ([]string, error) {
	if IsLab(dir) {
		return []string{dir}, nil
	}
	left := maxEntries
	found, err := below(dir, depth, &left)
	switch {
	case errors.Is(err, errTooMany):
		return nil, fmt.Errorf("more than %d files and folders in %s; name a folder closer to the scenarios", maxEntries, dir)
	case err == nil && len(found) == 0 && hasManifests(dir):
		return []string{dir}, nil
	case err == nil && len(found) == 0:
		return nil, fmt.Errorf("no scenario (*.hcl, *.hcl.json, *%s) or manifest (*.yaml) in %s", labSuffix, dir)
	}
	return found, err
}

// labSuffix ends the name of a folder whose files are one scenario.
const labSuffix = ".lab"

// IsLab reports a folder whose files are one scenario.
func IsLab(dir string) bool { return strings.HasSuffix(Absolute(dir), labSuffix) }

// below is Find for a folder: its own scenarios first, then those of each folder in it.
func below(dir string, depth int, left *int) ([]string, error) {
	entries, err := entriesOf(dir, left)
	if err != nil {
		return nil, err
	}
	var found, folders []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir() && strings.HasSuffix(e.Name(), labSuffix), isScenarioFile(e.Name()) && !e.IsDir():
			found = append(found, path)
		case e.IsDir() && depth > 0 && e.Name() != "testdata":
			folders = append(folders, path)
		}
	}
	for _, folder := range folders {
		list, err := below(folder, depth-1, left)
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	return found, nil
}

// entriesOf reads a folder, in the order of its names, as far as entries are left to look at.
func entriesOf(dir string, left *int) ([]os.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(*left + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if *left -= len(entries); *left < 0 {
		return nil, errTooMany
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

var errTooMany = errors.New("too many files")

// IsFolder reports a folder, or a symbolic link to one that does not pretend to be a scenario.
func IsFolder(path string) bool {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&os.ModeSymlink != 0 && !IsScenario(path) {
		info, err = os.Stat(path)
	}
	return err == nil && info.IsDir()
}

// Parts are the files of the scenario at a path that Find returned.
func Parts(path string) ([]string, error) {
	if !IsLab(path) {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	var files []string
	for _, e := range entries {
		if isScenarioFile(e.Name()) && !e.IsDir() {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, err
}

func isScenarioFile(name string) bool {
	return IsScenario(name) && !isAuto(name) && !strings.HasPrefix(name, ".")
}
