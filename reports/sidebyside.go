package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// files groups the results by scenario, then by variation.
func (r Report) files() [][][]Result {
	var all [][][]Result
	index := map[[2]string]int{}
	for _, results := range r.scenarios() {
		key := [2]string{results[0].File, results[0].Scenario}
		i, known := index[key]
		if !known {
			i = len(all)
			index[key] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], results)
	}
	return all
}

// line of the table: a label, and a cell per variation.
type comparison struct {
	label string
	cells []string
	style []style
	same  bool
}

// compare writes the variations of a scenario next to each other: a line for each expectation
// and each pair of dialer and target, a column for each variation. Lines that differ between
// columns end in ←. Below them is what differs on the wire. Columns that do not fit follow below. Failures are explained after the
// table.
func (m *matrix) compare(r Report, group [][]Result) {
	first := group[0][0]
	m.line(m.paint(title, first.Scenario) + "  " + m.paint(quiet, first.File))
	head := comparison{label: "EXPECTATION, WHO → TO", same: true}
	var variations []string
	for _, results := range group {
		variations = append(variations, results[0].Variation)
		head.style = append(head.style, quiet)
	}
	lines := []comparison{head}
	for _, name := range namesOf(group) {
		lines = append(lines, comparisons(name, group)...)
	}
	lines = append(lines, r.wires(group)...)
	label, cells := 0, make([]int, len(group))
	for _, l := range lines {
		label = max(label, utf8.RuneCountInString(l.label))
		for i, c := range l.cells {
			cells[i] = max(cells[i], utf8.RuneCountInString(c))
		}
	}
	heads, widths, short := columnsOf(label, variations, cells)
	lines[0].cells = heads
	for k, columns := range fold(label, widths) {
		if k > 0 {
			m.line("")
		}
		for i, l := range lines {
			m.comparison(l, label, columns, widths, i == 0)
		}
	}
	if short {
		for i, variation := range variations {
			m.line(m.paint(quiet, fmt.Sprintf("%d %s", i+1, variation)))
		}
	}
	m.line("")
	for _, results := range group {
		m.explain(results)
	}
}

// comparison writes some columns of a line.
func (m *matrix) comparison(l comparison, label int, columns [2]int, widths []int, head bool) {
	text := l.label
	if head {
		text = m.paint(quiet, text)
	}
	text += blanks(l.label, label+2)
	for i := columns[0]; i < columns[1]; i++ {
		text += m.paint(l.style[i], l.cells[i]) + blanks(l.cells[i], widths[i]+2)
	}
	if !l.same {
		text += m.paint(odd, "←")
	}
	m.line(text)
}

// explain describes below the table what failed in one variation.
func (m *matrix) explain(results []Result) {
	for _, r := range results {
		if r.Status != Failed && r.Status != Disagreed {
			continue
		}
		m.line(m.paint(bad, printable(r.Title()+": "+r.Name)) + "  " + m.paint(quiet, r.Place()))
		for _, row := range r.shown() {
			if row.wrong() {
				m.line("  " + printable(row.Who+" → "+row.To))
				m.line(details(row, "    "))
			}
		}
		if r.Failure != "" {
			m.line("  " + strings.ReplaceAll(printable(strings.TrimSpace(r.Failure)), "\n", "\n  "))
		}
		m.line("")
	}
}

// namesOf are the expectations of a scenario in all variations, in order.
func namesOf(group [][]Result) []expectation {
	var names []expectation
	for _, results := range group {
		for _, r := range results {
			if e := (expectation{r.Line, r.Name}); !slices.Contains(names, e) {
				names = append(names, e)
			}
		}
	}
	return names
}

// expectation identifies an expectation within a scenario.
type expectation struct {
	line int
	name string
}

// comparisons are the lines of one expectation.
func comparisons(e expectation, group [][]Result) []comparison {
	head := comparison{label: printable(e.name)}
	var pairs []*comparison
	table := false // only pairs that are wrong or differ get a line
	essence := map[string][]string{}
	for i, results := range group {
		cell, look := "-", quiet
		for _, r := range results {
			if (expectation{r.Line, r.Name}) != e {
				continue
			}
			cell, look = statusCell(r)
			table = table || r.Table != nil
			for _, row := range r.Rows {
				label := "  " + printable(row.Who+" → "+row.To)
				if essence[label] == nil {
					essence[label] = make([]string, len(group))
					pairs = append(pairs, &comparison{label: label, cells: slices.Repeat([]string{"-"}, len(group)), style: slices.Repeat([]style{quiet}, len(group))})
				}
				pair := pairs[slices.IndexFunc(pairs, func(p *comparison) bool { return p.label == label })]
				pair.cells[i], pair.style[i] = rowCell(row)
				essence[label][i] = row.essence()
			}
		}
		head.cells, head.style = append(head.cells, cell), append(head.style, look)
	}
	head.same = allSame(head.cells)
	lines := []comparison{head}
	for _, pair := range pairs {
		pair.same = allSame(essence[pair.label])
		if !table || slices.Contains(pair.style, bad) || !pair.same {
			lines = append(lines, *pair)
		}
	}
	return lines
}

func allSame(cells []string) bool { return len(slices.Compact(slices.Clone(cells))) <= 1 }

func statusCell(r Result) (string, style) {
	if r.Status == Skipped {
		return "skipped", odd
	}
	return r.Status.look()
}

// essence is the text by which rows are compared. The endpoint that answered a single
// connection may be chance.
func (r Row) essence() string {
	cell, _ := rowCell(r)
	if connections := r.Outcomes; len(connections) == 1 && connections[0].Count == 1 && len(r.Answers) == 1 {
		cell = strings.TrimSuffix(cell, printable(r.Answers[0].Name))
	}
	return cell
}

// rowCell is what one dialer observed: the outcome, and for connections the source and
// the agent that answered.
func rowCell(r Row) (string, style) {
	if r.status() == Skipped {
		return "-", quiet
	}
	sign, look := r.status().look()
	parts := []string{sign, r.outcome()}
	if len(r.Sources) > 0 {
		parts = append(parts, "from "+r.source())
	}
	if len(r.Answers) == 1 {
		parts = append(parts, "by "+r.Answers[0].Name)
	} else if len(r.Answers) > 1 {
		parts = append(parts, fmt.Sprintf("by %d", len(r.Answers)))
	}
	return printable(strings.Join(parts, " ")), look
}
