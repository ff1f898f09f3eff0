package vm

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// libraries finds what programs load when they start.
type libraries struct {
	root string   // root of the file system; empty: /
	dirs []string // searched after those named by the program itself
}

// hostLibraries searches where this machine's dynamic linker does (ld.so(8)): the
// folders of ld.so.conf, then the default ones.
func hostLibraries() *libraries {
	l := &libraries{}
	l.configured("/etc/ld.so.conf", 0)
	l.dirs = append(l.dirs, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
	return l
}

// configured reads folders from a file of the dynamic linker.
func (l *libraries) configured(file string, depth int) {
	text, err := os.ReadFile(file)
	if err != nil || depth > 4 {
		return
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == "include":
			more, _ := filepath.Glob(words[1])
			for _, m := range more {
				l.configured(m, depth+1)
			}
		case len(words) == 1:
			l.dirs = append(l.dirs, words[0])
		}
	}
}

// closure returns the interpreters and libraries that the programs need to start,
// sorted, without the programs themselves. Files other than ELF need nothing.
func (l *libraries) closure(programs []string) ([]string, error) {
	all := slices.Clone(programs)
	for i := 0; i < len(all); i++ {
		direct, err := l.needs(all[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", all[i], err)
		}
		for _, p := range direct {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return slices.Sorted(slices.Values(all[len(programs):])), nil
}

// needs returns the interpreter and the libraries that a file names.
func (l *libraries) needs(name string) ([]string, error) {
	f, err := elf.Open(l.root + name)
	if format := (*elf.FormatError)(nil); errors.As(err, &format) {
		return nil, nil
	}
	if err != nil {
		if info, e := os.Stat(l.root + name); e == nil && info.Size() < 16 {
			return nil, nil // too short for a header
		}
		return nil, err
	}
	defer f.Close()
	var list []string
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		text, err := io.ReadAll(p.Open())
		if err != nil {
			return nil, err
		}
		list = append(list, strings.TrimRight(string(text), "\x00"))
	}
	names, err := f.ImportedLibraries()
	if err != nil || len(names) == 0 {
		return list, nil // a static program has no dynamic section
	}
	var own []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		paths, _ := f.DynString(tag)
		for _, p := range paths {
			for _, dir := range strings.Split(p, ":") {
				own = append(own, strings.NewReplacer("$ORIGIN", filepath.Dir(name), "${ORIGIN}", filepath.Dir(name)).Replace(dir))
			}
		}
	}
	for _, lib := range names {
		found, err := l.find(lib, append(own, l.dirs...), f.Machine)
		if err != nil {
			return nil, err
		}
		list = append(list, found)
	}
	return list, nil
}

// find looks for a library for the right processor.
func (l *libraries) find(lib string, dirs []string, machine elf.Machine) (string, error) {
	if filepath.IsAbs(lib) {
		return lib, nil
	}
	for _, dir := range dirs {
		name := filepath.Join(dir, lib)
		f, err := elf.Open(l.root + name)
		if err != nil {
			continue
		}
		same := f.Machine == machine
		f.Close()
		if same {
			return name, nil
		}
	}
	return "", fmt.Errorf("no library %s in %s", lib, strings.Join(dirs, ", "))
}
