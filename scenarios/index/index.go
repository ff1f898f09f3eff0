// Package index reads the scenarios that ship, and writes the list of them, with what each
// shows and what it needs of the kernel.
package index

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/scenarios"
	"github.com/netlab/netlab/scenarios/language"
)

// Markdown is scenarios/README.md: every scenario with what it shows, and what it
// needs of the kernel beyond local-policy.hcl.
func Markdown() (string, error) {
	var b strings.Builder
	b.WriteString(`# The scenarios that ship

` + "`netlab init --markdown`" + ` writes this page; ` + "`netlab init NAME`" + ` writes one of the files into the current folder,
and ` + "`netlab test scenarios/`" + ` proves them all. What the kernel needs beyond [local-policy.hcl](local-policy.hcl) is in the last
column; where it is missing, ` + "`netlab vm test FILE`" + ` has it.
`)
	var usual []feature.Feature
	subject := "none"
	for _, lab := range scenarios.All() {
		needs, err := needsOf(lab)
		if err != nil {
			return "", err
		}
		if usual == nil {
			usual = needs
		}
		if s := lab.Subject(); s != subject {
			subject = s
			if s != "" {
				fmt.Fprintf(&b, "\n## %s\n", s)
			}
			b.WriteString("\n| scenario | what it shows | needs |\n|---|---|---|\n")
		}
		var more []string
		for _, f := range needs {
			if !slices.Contains(usual, f) {
				more = append(more, string(f))
			}
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", lab.Name, lab.Path, strings.ReplaceAll(lab.Shows, "|", `\|`), strings.Join(more, ", "))
	}
	return b.String(), nil
}

// needsOf are the features that any variation of a lab needs.
func needsOf(lab scenarios.Lab) ([]feature.Feature, error) {
	variations, err := Load(lab)
	if err != nil {
		return nil, err
	}
	all := &plan.Plan{}
	for _, s := range variations {
		p, err := datapath.Compile(s.Lab)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lab.Path, err)
		}
		all.Netns = append(all.Netns, p.Netns...)
	}
	return plan.Requires(all), nil
}

// Load reads a lab that ships, in all its variations. It is read from a file of its own name,
// as it is written by netlab init: it may name itself.
func Load(lab scenarios.Lab) (variations []*language.Scenario, err error) {
	dir, err := os.MkdirTemp("", "netlab")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, path.Base(lab.Path))
	for name, text := range lab.Files() {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	load := func(v language.Variation) (*language.Scenario, error) {
		s, diags := language.Load(file, language.Options{Catalogue: datapath.Catalogue(), Variation: v})
		if diags.HasErrors() {
			return nil, fmt.Errorf("%s: %s", lab.Path, diags.JSON())
		}
		return s, nil
	}
	s, err := load(nil)
	if err != nil {
		return nil, err
	}
	for _, v := range language.Variations(s.Matrix) {
		if s, err = load(v); err != nil {
			return nil, err
		}
		variations = append(variations, s)
	}
	return variations, nil
}
