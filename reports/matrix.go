package reports

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// columns are the headings of the matrix.
var columns = [...]string{"WHO", "TO", "OUTCOME", "SOURCE SEEN", "WHO ANSWERED"}

// Matrix renders a report for a terminal: a table per scenario, with a line for each
// pair of dialer and target, and below a failed one the claim, the observation and the
// rules that the packet should have met. The variations of a scenario stand side by side.
func Matrix(r Report, colour bool) string {
	r = r.visible()
	m := newMatrix(colour)
	for _, group := range r.files() {
		if group[0][0].Variation != "" {
			m.compare(r, group)
			continue
		}
		for _, results := range group {
			m.scenario(results)
		}
	}
	m.line(summary(r))
	return m.text.String()
}

type matrix struct {
	text  strings.Builder
	paint func(style, string) string
	// told is the last reason printed for a skipped result of the scenario.
	told string
}

func newMatrix(colour bool) *matrix {
	if colour {
		return &matrix{paint: ansi}
	}
	return &matrix{paint: plain}
}

// style is the role of a piece of text, not its look.
type style int

const (
	good style = iota
	bad
	odd
	quiet
	title
	neutral
)

func plain(_ style, s string) string { return s }

func ansi(k style, s string) string {
	if k == neutral {
		return s
	}
	code := map[style]string{good: "32", bad: "31", odd: "33", quiet: "2", title: "1"}[k]
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// line writes one line without trailing blanks.
func (m *matrix) line(s string) {
	m.text.WriteString(strings.TrimRight(s, " "))
	m.text.WriteByte('\n')
}

func (m *matrix) scenario(results []Result) {
	m.line(m.paint(title, results[0].Title()) + "  " + m.paint(quiet, results[0].File))
	widths := widths(results)
	if widths != nil {
		m.line("    " + m.paint(quiet, strings.TrimRight(pad(columns[:], widths), " ")))
	}
	m.told = ""
	for _, r := range results {
		m.result(r, widths)
	}
	m.line("")
}

// skipped says why a result was skipped, but does not repeat the same reason.
func (m *matrix) skipped(r Result) string {
	if r.Reason == m.told {
		return "skipped"
	}
	m.told = r.Reason
	return "skipped: " + printable(r.Reason)
}

func (m *matrix) result(r Result, widths []int) {
	sign, look := r.Status.look()
	head, took := sign+" "+printable(r.Name), r.Duration.String()
	switch r.Status {
	case Passed:
		m.line(m.paint(good, sign) + " " + printable(r.Name) + "  " + m.paint(quiet, took))
	case Skipped:
		m.line(m.paint(odd, sign) + " " + printable(r.Name) + "  " + m.paint(odd, m.skipped(r)))
	default:
		m.line(m.paint(look, head) + "  " + m.paint(quiet, took+"  "+r.Place()))
	}
	if r.Table != nil {
		m.line("    " + strings.ReplaceAll(r.truth(m.paint), "\n", "\n    "))
	}
	for _, row := range r.shown() {
		sign, look := row.status().look()
		m.line("  " + m.paint(look, sign) + " " + pad(row.cells(), widths))
		if row.wrong() {
			m.line(details(row, "      "))
		}
	}
	if r.Failure != "" {
		m.line(m.paint(bad, "    "+strings.ReplaceAll(printable(strings.TrimSpace(r.Failure)), "\n", "\n    ")))
	}
	for _, w := range r.Warnings {
		m.line(m.paint(odd, "  ! "+printable(w)))
	}
}

// maxShown is how many wrong rows are shown below a truth table.
const maxShown = 20

// shown are the rows with a line of their own; below a truth table only the wrong ones.
func (r Result) shown() []Row {
	if r.Table == nil {
		return r.Rows
	}
	var out []Row
	for _, row := range r.Rows {
		if row.wrong() && len(out) < maxShown {
			out = append(out, row)
		}
	}
	return out
}

// Truth is the truth table of a result in plain text, or "".
func (r Result) Truth() string { return r.truth(plain) }

func (r Result) truth(paint func(style, string) string) string {
	if r.Table == nil {
		return ""
	}
	m := matrix{paint: paint}
	m.reachability(*r.Table)
	text := strings.TrimSpace(m.text.String())
	if r.Table.has(func(c Cell) bool { return c.Disagrees }) {
		text += "\n" + paint(quiet, legend([]Reachability{*r.Table}))
	}
	return text
}

// details describes what is wrong with a row, without a trailing newline.
func details(r Row, indent string) string {
	lines := []string{"wanted:    " + r.Wanted}
	if r.Observed != "" {
		lines = append(lines, "observed:  "+r.Observed)
	}
	switch {
	case r.Disagrees && r.Agents != "":
		lines = append(lines, "predicted: "+r.Predicted, "predicted from the rules that an agent is measured by ("+r.Agents+"): it does something else, or nothing yet; see: netlab logs")
	case r.Disagrees:
		lines = append(lines, "predicted: "+r.Predicted, "the rules on paper and the kernel disagree: one of them, or the prediction, has a bug")
	case r.Predicted != "":
		lines = append(lines, "predicted: "+r.Predicted)
	}
	for _, policy := range r.Policies {
		lines = append(lines, "policy:    "+policy)
	}
	if r.Explain != "" {
		lines = append(lines, "explain:   "+r.Explain)
	}
	for i, rule := range r.Rules {
		if i == 0 {
			lines = append(lines, "the packet should have met:")
		}
		lines = append(lines, "  "+rule)
	}
	for _, p := range r.Programs {
		lines = append(lines, "the program of "+p.Name+": "+p.State)
		for _, line := range p.Lines {
			lines = append(lines, "  "+line)
		}
	}
	return indent + printable(strings.Join(lines, "\n"+indent))
}

// wrong reports whether a row needs details.
func (r Row) wrong() bool { return !r.OK || r.Disagrees }

func (r Row) cells() []string {
	return []string{printable(r.Who), printable(r.To), r.outcome(), r.source(), printable(r.answer())}
}

// widths are those of the columns, or nil without any row.
func widths(results []Result) []int {
	var w []int
	for _, r := range results {
		for _, row := range r.shown() {
			if w == nil {
				for _, c := range columns {
					w = append(w, utf8.RuneCountInString(c))
				}
			}
			for i, c := range row.cells() {
				w[i] = max(w[i], utf8.RuneCountInString(c))
			}
		}
	}
	return w
}

// pad joins cells to a line of the table.
func pad(cells []string, widths []int) string {
	var b strings.Builder
	for i, c := range cells {
		b.WriteString(c + blanks(c, widths[i]+2))
	}
	return strings.TrimRight(b.String(), " ")
}

// blanks fill a cell up to a width.
func blanks(cell string, width int) string {
	return strings.Repeat(" ", width-utf8.RuneCountInString(cell))
}

func summary(r Report) string {
	parts := []string{fmt.Sprintf("%d passed", r.Count(Passed))}
	for _, s := range []Status{Failed, Disagreed, Skipped} {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if r.NotRun > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", r.NotRun))
	}
	text := strings.Join(parts, ", ")
	if r.Paper {
		text += " on paper"
	}
	text += " in " + r.total().String()
	var all Result
	for _, result := range r.Results {
		all.Rows = append(all.Rows, result.Rows...)
	}
	if again := all.Again(); again != "" {
		text += "; " + again
	}
	return text
}
