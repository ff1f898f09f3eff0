package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/reports/visible"
	"github.com/netlab/netlab/topology"
)

// Severity tells whether a scenario can be used despite a diagnostic.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is one problem of a scenario.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Summary  string   `json:"summary"` // at most six words
	Detail   string   `json:"detail"`  // what is wrong, and how to fix it
	Range    *Range   `json:"range,omitempty"`
	Snippet  string   `json:"snippet,omitempty"` // the first source line of Range
	// Instances are the addresses of the objects that have the problem, where other
	// objects of the same block do not.
	Instances []string `json:"instances,omitempty"`
}

// Range is a part of a file. Lines and columns count from 1, columns in
// characters; the end is exclusive. File is a path that can be opened from where
// the scenario was loaded.
type Range struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
}

// Diagnostics are all problems of a scenario, in the order of its files.
type Diagnostics []Diagnostic

// HasErrors reports whether one of the diagnostics is an error.
func (d Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(d, func(x Diagnostic) bool { return x.Severity == Error })
}

// WriteText writes the diagnostics for people: place, quoted line, caret, and what
// to do. With color it uses terminal escapes.
func (d Diagnostics) WriteText(w io.Writer, color bool) error {
	var b bytes.Buffer
	paint := func(code, s string) string {
		if !color {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	for i, x := range d {
		if i > 0 {
			b.WriteByte('\n')
		}
		hue := "1;31"
		if x.Severity == Warning {
			hue = "1;33"
		}
		if x.Range != nil {
			fmt.Fprintf(&b, "%s: ", visible.Text(fmt.Sprintf("%s:%d:%d", x.Range.File, x.Range.Line, x.Range.Column)))
		}
		fmt.Fprintf(&b, "%s %s\n", paint(hue, string(x.Severity)+":"), paint("1", visible.Text(x.Summary)))
		if x.Range != nil && x.Snippet != "" {
			line, caret := x.underline()
			number := fmt.Sprint(x.Range.Line)
			fmt.Fprintf(&b, "  %s | %s\n", number, line)
			fmt.Fprintf(&b, "  %s | %s\n", strings.Repeat(" ", len(number)), paint(hue, caret))
		}
		for line := range strings.Lines(x.Detail) {
			fmt.Fprintf(&b, "  %s\n", visible.Text(strings.TrimRight(line, "\n")))
		}
		if len(x.Instances) > 0 {
			are := "This is"
			if len(x.Instances) > 1 {
				are = "These are"
			}
			fmt.Fprintf(&b, "  %s %s.\n", are, visible.Text(SomeOf(x.Instances)))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// JSON returns the diagnostics as an indented JSON array.
func (d Diagnostics) JSON() []byte {
	if d == nil {
		d = Diagnostics{}
	}
	out, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return append(out, '\n')
}

// SomeOf lists a few of many.
func SomeOf(list []string) string {
	const few = 3
	if len(list) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
	}
	return strings.Join(list, ", ")
}

// maxSnippet limits the quoted line, in characters.
const maxSnippet = 160

// underline returns the quoted line, and the carets below its wrong part.
func (x Diagnostic) underline() (line, caret string) {
	chars := []rune(x.Snippet)
	from := min(max(x.Range.Column-1, 0), len(chars))
	to := len(chars)
	if x.Range.EndLine == x.Range.Line {
		to = min(max(x.Range.EndColumn-1, from), len(chars))
	}
	if start := max(0, from-maxSnippet/2); len(chars) > maxSnippet {
		chars = chars[start:min(len(chars), start+maxSnippet)]
		from, to = from-start, min(to-start, len(chars))
	}
	var b strings.Builder
	for _, c := range visible.Text(string(chars[:from])) {
		if c == '\t' {
			b.WriteRune('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	b.WriteString(strings.Repeat("^", max(1, utf8.RuneCountInString(visible.Text(string(chars[from:to]))))))
	return visible.Text(string(chars)), b.String()
}

// Collector gathers the diagnostics of one load.
type Collector struct {
	List    Diagnostics
	Sources map[string][]byte
	Path    func(file string) string

	// Progress follows what is evaluated; nil: nobody watches.
	Progress *Progress

	// Instance is the address of the object that is read, if its block makes several, and
	// Siblings how many the block makes.
	Instance string
	Siblings map[string]int
}

// maxDiagnostics limits what a broken file can print.
const maxDiagnostics = 200

func (c *Collector) add(severity Severity, summary, detail string, r hcl.Range) {
	d := Diagnostic{Severity: severity, Summary: summary, Detail: detail}
	if c.Instance != "" {
		d.Instances = []string{c.Instance}
	}
	d.locate(r, c.Sources[r.Filename], c.Path)
	c.List = append(c.List, d)
}

// locate says where the problem is, and quotes the line.
func (d *Diagnostic) locate(r hcl.Range, src []byte, path func(string) string) {
	if r.Filename != "" && r.Start.Line > 0 {
		d.Range = &Range{path(r.Filename), r.Start.Line, r.Start.Column, r.End.Line, r.End.Column}
		d.Snippet = SourceLine(src, r.Start.Line)
	} else if r.Filename != "" {
		d.Range = &Range{File: path(r.Filename), Line: 1, Column: 1, EndLine: 1, EndColumn: 1}
	}
}

func (c *Collector) Errorf(r hcl.Range, summary, format string, args ...any) {
	c.add(Error, summary, fmt.Sprintf(format, args...), r)
}

func (c *Collector) Warnf(r hcl.Range, summary, format string, args ...any) {
	c.add(Warning, summary, fmt.Sprintf(format, args...), r)
}

// severity is that of a warning, or of what is not one.
func severity(warning bool) Severity {
	if warning {
		return Warning
	}
	return Error
}

// Problems adds what topology found.
func (c *Collector) Problems(ps topology.Problems) {
	for _, p := range ps {
		c.Instance = p.Instance
		c.add(severity(p.Warning), p.Summary, p.Detail, RangeOf(p.Origin))
	}
	c.Instance = ""
}

// Sorted is the list in the order of the files, without repetitions: instances of
// one block repeat what is wrong with the block.
func (c *Collector) Sorted() Diagnostics {
	out := c.merged()
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		if a.Range == nil || b.Range == nil {
			return cmp.Compare(len(a.file()), len(b.file()))
		}
		return cmp.Or(cmp.Compare(a.Range.File, b.Range.File), cmp.Compare(a.Range.Line, b.Range.Line),
			cmp.Compare(a.Range.Column, b.Range.Column))
	})
	return out.few()
}

// few are the first of many diagnostics, errors before warnings, with how many more there are.
func (d Diagnostics) few() Diagnostics {
	more := len(d) - maxDiagnostics
	if more <= 0 {
		return d
	}
	warnings := maxDiagnostics
	for _, x := range d {
		if x.Severity == Error {
			warnings--
		}
	}
	var out Diagnostics
	for _, x := range d {
		if x.Severity == Warning {
			if warnings--; warnings < 0 {
				continue
			}
		}
		if out = append(out, x); len(out) == maxDiagnostics {
			break
		}
	}
	last := Diagnostic{Severity: Error, Summary: "Too many problems", Detail: fmt.Sprintf("There are %d more problems. Fix these first.", more)}
	if !d.HasErrors() {
		last = Diagnostic{Severity: Warning, Summary: "More warnings", Detail: fmt.Sprintf("There are %d more, which are not shown.", more)}
	}
	return append(out, last)
}

// merged is the list without repetitions. What is wrong at one place with several instances
// of a block is told once: in the words for the first of them, with all their addresses, or
// without addresses where it is the same for all.
func (c *Collector) merged() (out Diagnostics) {
	type key struct {
		at                Range
		summary, instance string
		detail            string
		nth               int // of those of one instance
	}
	seen, count := map[key]int{}, map[key]int{}
	differ := map[int]bool{}
	for _, d := range c.List {
		k := key{summary: d.Summary}
		if d.Range != nil {
			k.at = *d.Range
		}
		exact := k
		exact.detail, exact.instance = d.Detail, strings.Join(d.Instances, "")
		if _, ok := seen[exact]; ok {
			continue
		}
		if len(d.Instances) == 0 {
			k = exact
		} else {
			of := k
			of.instance = d.Instances[0]
			count[of]++
			k.nth = count[of]
		}
		i, ok := seen[k]
		if !ok {
			i = len(out)
			out = append(out, d)
		} else {
			out[i].Instances = append(out[i].Instances, d.Instances...)
			differ[i] = differ[i] || d.Detail != out[i].Detail
		}
		seen[k], seen[exact] = i, i
	}
	for i, d := range out {
		if len(d.Instances) > 0 && len(d.Instances) == c.Siblings[d.Instances[0]] && !differ[i] {
			out[i].Instances = nil
		}
	}
	return out
}

func (d Diagnostic) file() string {
	if d.Range == nil {
		return ""
	}
	return d.Range.File
}

func SourceLine(src []byte, line int) string {
	for ; line > 1; line-- {
		_, rest, ok := bytes.Cut(src, []byte("\n"))
		if !ok {
			return ""
		}
		src = rest
	}
	first, _, _ := bytes.Cut(src, []byte("\n"))
	return strings.ToValidUTF8(strings.TrimRight(string(first), "\r"), "?")
}

func RangeOf(o topology.Origin) hcl.Range {
	return hcl.Range{Filename: o.File, Start: hcl.Pos{Line: o.Line, Column: o.Column}, End: hcl.Pos{Line: o.EndLine, Column: o.EndColumn}}
}

func OriginOf(r hcl.Range) topology.Origin {
	return topology.Origin{File: r.Filename, Line: r.Start.Line, Column: r.Start.Column, EndLine: r.End.Line, EndColumn: r.End.Column}
}

// HCL adds HCL's own diagnostics, in our words.
func (c *Collector) HCL(diags hcl.Diagnostics) {
	for _, d := range diags {
		r := hcl.Range{}
		if d.Subject != nil {
			r = *d.Subject
		}
		summary, detail := Worded(d)
		c.add(severity(d.Severity == hcl.DiagWarning), summary, detail, r)
	}
}
