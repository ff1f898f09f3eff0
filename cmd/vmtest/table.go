package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is a line of the table.
type row struct {
	spec, host, vm string
	ok             bool
}

// judge compares the results here and in the machine. Tests that ran here take one row
// per package, and one per failure; every test that could not run here has its own row.
func judge(host, guest []Test) []row {
	inGuest := map[[2]string]Test{}
	for _, t := range guest {
		inGuest[[2]string{t.Package, t.Name}] = t
	}
	var rows, single []row
	ran := map[string]int{}
	for _, t := range innermost(host) {
		spec := strings.TrimSpace(short(t.Package) + " " + t.Name)
		switch {
		case t.Name == "":
			if t.Status == failed {
				single = append(single, row{spec, "FAILED", "-", false})
			}
		case t.lacks():
			g, known := inGuest[[2]string{t.Package, t.Name}]
			single = append(single, row{spec, "lacks " + cmp.Or(strings.Join(t.features(), ", "), "something"), inWords(g, known), known && g.Status == passed})
		case t.Status == failed:
			single = append(single, row{spec, "FAILED", "-", false})
		case t.Status == passed:
			ran[t.Package]++
		}
	}
	for pkg, n := range ran {
		rows = append(rows, row{short(pkg), fmt.Sprintf("%d passed", n), "-", true})
	}
	// A test that failed in the machine without being picked, such as a parent.
	for _, t := range innermost(guest) {
		if t.Status == failed && !slices.ContainsFunc(host, func(h Test) bool { return h.lacks() && h.Package == t.Package && h.Name == t.Name }) {
			single = append(single, row{strings.TrimSpace(short(t.Package) + " " + t.Name), "-", inWords(t, true), false})
		}
	}
	bySpec := func(a, b row) int { return cmp.Compare(a.spec, b.spec) }
	slices.SortFunc(rows, bySpec)
	slices.SortStableFunc(single, bySpec)
	return append(rows, single...)
}

// innermost leaves out failures explained by others in the same record: those of
// packages, and of parents of failed tests.
func innermost(tests []Test) []Test {
	explained := map[[2]string]bool{}
	for _, t := range tests {
		if t.Status != failed || t.Name == "" {
			continue
		}
		explained[[2]string{t.Package, ""}] = true
		for i, c := range t.Name {
			if c == '/' {
				explained[[2]string{t.Package, t.Name[:i]}] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(tests), func(t Test) bool {
		return t.Status == failed && explained[[2]string{t.Package, t.Name}]
	})
}

func inWords(t Test, known bool) string {
	switch {
	case !known:
		return "did not run"
	case t.Status == passed && t.Seconds < 0.05: // or only reported what its specs had found
		return "passed"
	case t.Status == passed:
		return fmt.Sprintf("passed in %.1f s", t.Seconds)
	case t.lacks():
		return "lacks " + strings.Join(t.features(), ", ")
	case t.Status == skipped:
		return "skipped"
	}
	return "FAILED"
}

// short is a package's path within the repository.
func short(pkg string) string { return strings.TrimPrefix(pkg, "github.com/netlab/netlab/") }

// render prints the table and how many of its rows are wrong.
func render(rows []row) (text string, wrong int) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SPEC\tHOST\tVM\tVERDICT")
	for _, r := range rows {
		verdict := "ok"
		if !r.ok {
			verdict = "FAIL"
			wrong++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.spec, r.host, r.vm, verdict)
	}
	_ = w.Flush() // a builder never fails
	return b.String(), wrong
}
