package main

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// selection is one run of a package's test binary: some of the tests under one parent.
type selection struct {
	pkg   string
	run   string // for -test.run
	names []string
}

// pick returns what has to run in the machine: the tests that this kernel could not
// run, except parents of other such tests.
func pick(tests []Test) []selection {
	below := map[[2]string][]string{} // package and parent: last names
	for _, t := range tests {
		if !t.lacks() {
			continue
		}
		parent, last := "", t.Name
		if i := strings.LastIndexByte(t.Name, '/'); i >= 0 {
			parent, last = t.Name[:i], t.Name[i+1:]
		}
		key := [2]string{t.Package, parent}
		if !slices.Contains(below[key], last) {
			below[key] = append(below[key], last)
		}
	}
	var list []selection
	for key, names := range below {
		slices.Sort(names)
		s := selection{pkg: key[0]}
		var levels []string
		if key[1] != "" {
			for _, level := range strings.Split(key[1], "/") {
				levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
			}
		}
		var last []string
		for _, n := range names {
			last = append(last, regexp.QuoteMeta(n))
			s.names = append(s.names, strings.TrimPrefix(key[1]+"/"+n, "/"))
		}
		s.run = strings.Join(append(levels, "^("+strings.Join(last, "|")+")$"), "/")
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b selection) int { return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.run, b.run)) })
	return list
}

// packagesOf are the packages of selections, which are sorted, without duplicates.
func packagesOf(list []selection) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.pkg)
	}
	return slices.Compact(out)
}
