package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/netlab/netlab/datapath/flow"
)

// Reachability is who can reach whom on one port over one protocol: a truth table.
type Reachability struct {
	Protocol flow.Protocol `json:"protocol"`
	Port     uint16        `json:"port"`
	From     []string      `json:"from"`
	To       []string      `json:"to"`
	Cells    [][]Cell      `json:"cells"` // by From, then To
}

// Cell is the outcome of connections from one to another. Each field lists the possible
// outcomes, several if chance decides; empty: not determined.
type Cell struct {
	Expected  []flow.Outcome `json:"expected"`            // by the meaning of services and policies
	Predicted []flow.Outcome `json:"predicted"`           // by the rules, on paper
	Observed  []flow.Outcome `json:"observed,omitempty"`  // with packets
	Because   string         `json:"because,omitempty"`   // why it is denied, in words
	Disagrees bool           `json:"disagrees,omitempty"` // the three are not the same
}

// Judge sets Disagrees. What was observed must be one of the possible outcomes.
func (c *Cell) Judge() {
	differ := func(a, b []flow.Outcome) bool { // some of a is not in b
		return slices.ContainsFunc(a, func(o flow.Outcome) bool { return !slices.Contains(b, o) })
	}
	c.Disagrees = differ(c.Expected, c.Predicted) || differ(c.Predicted, c.Expected) ||
		differ(c.Observed, c.Predicted) || differ(c.Observed, c.Expected)
}

// outcomeSigns are how outcomes look in a table.
var outcomeSigns = []struct {
	outcome flow.Outcome
	sign    string
	words   string
}{
	{flow.Connected, ".", "connected"}, {flow.Timeout, "X", "timeout"}, {flow.Refused, "R", "refused"},
	{flow.Unreachable, "U", "unreachable"}, {flow.Reset, "r", "reset"}, {flow.Failed, "!", "the probe failed"},
}

func sign(outcomes []flow.Outcome) string {
	var b strings.Builder
	for _, s := range outcomeSigns {
		if slices.Contains(outcomes, s.outcome) {
			b.WriteString(s.sign)
		}
	}
	return b.String()
}

// text is the cell in the table: one sign where all agree, else the sign of each.
func (c Cell) text() string {
	if !c.Disagrees {
		return sign(c.Expected)
	}
	parts := []string{sign(c.Expected), sign(c.Predicted)}
	if len(c.Observed) > 0 {
		parts = append(parts, sign(c.Observed))
	}
	return strings.Join(parts, "/")
}

// ReachTables renders truth tables, a row for each dialer and a column for each target.
// The cells that disagree are listed below; their number is returned.
func ReachTables(tables []Reachability, colour bool) (text string, differences int) {
	m := newMatrix(colour)
	tables = visibleTables(tables)
	for _, t := range tables {
		m.reachability(t)
	}
	for _, t := range tables {
		for i, row := range t.Cells {
			for k, c := range row {
				if c.Disagrees {
					differences++
					m.line(m.paint(bad, fmt.Sprintf("≠ %s to %s, %s %d: %s", t.From[i], t.To[k], t.Protocol, t.Port, c.words())))
				}
			}
		}
	}
	m.line(m.paint(quiet, legend(tables)))
	switch {
	case differences == 1:
		m.line(m.paint(bad, "1 cell differs"))
	case differences > 1:
		m.line(m.paint(bad, fmt.Sprintf("%d cells differ", differences)))
	case observed(tables):
		m.line("meaning, rules and packets agree")
	default:
		m.line("meaning and rules agree; nothing was sent")
	}
	return m.text.String(), differences
}

// legend says what the signs of tables mean, in one line.
func legend(tables []Reachability) string {
	some := func(f func(Cell) bool) bool {
		return slices.ContainsFunc(tables, func(t Reachability) bool { return t.has(f) })
	}
	var used []string
	for _, s := range outcomeSigns {
		if some(func(c Cell) bool {
			return slices.Contains(slices.Concat(c.Expected, c.Predicted, c.Observed), s.outcome)
		}) {
			used = append(used, s.sign+" "+s.words)
		}
	}
	if some(func(c Cell) bool { return c.Disagrees }) {
		opinions := "expected/predicted"
		if observed(tables) {
			opinions += "/observed"
		}
		used = append(used, opinions+" where they differ")
	}
	return strings.Join(used, "   ")
}

// observed reports whether packets were sent.
func observed(tables []Reachability) bool {
	return slices.ContainsFunc(tables, func(t Reachability) bool {
		return t.has(func(c Cell) bool { return len(c.Observed) > 0 })
	})
}

func (t Reachability) has(f func(Cell) bool) bool {
	return slices.ContainsFunc(t.Cells, func(row []Cell) bool { return slices.ContainsFunc(row, f) })
}

func (c Cell) words() string {
	parts := []string{"expected " + outcomeWords(c.Expected), "predicted " + outcomeWords(c.Predicted)}
	if len(c.Observed) > 0 {
		parts = append(parts, "observed "+outcomeWords(c.Observed))
	}
	if c.Because != "" {
		parts = append(parts, c.Because)
	}
	return strings.Join(parts, "; ")
}

func outcomeWords(list []flow.Outcome) string {
	var words []string
	for _, o := range list {
		words = append(words, string(o))
	}
	return strings.Join(words, " or ")
}

// plane is the protocol, and the port if all columns share one.
func (t Reachability) plane() string {
	if t.Port == 0 {
		return string(t.Protocol)
	}
	return fmt.Sprintf("%s %d", t.Protocol, t.Port)
}

// reachability writes one table.
func (m *matrix) reachability(t Reachability) {
	m.line(m.paint(title, t.plane()))
	first := 0
	for _, f := range t.From {
		first = max(first, utf8.RuneCountInString(f))
	}
	cells := make([]int, len(t.To))
	for k := range t.To {
		for i := range t.From {
			cells[k] = max(cells[k], len(t.Cells[i][k].text()))
		}
	}
	heads, widths, short := columnsOf(first, t.To, cells)
	for _, group := range fold(first, widths) {
		m.reachColumns(t, group, first, heads, widths)
	}
	if short {
		for _, line := range numbered(t.To) {
			m.line(m.paint(quiet, line))
		}
	}
	m.line("")
}

// reachColumns writes some columns of a table.
func (m *matrix) reachColumns(t Reachability, group [2]int, first int, heads []string, widths []int) {
	from, to := group[0], group[1]
	head := blanks("", first)
	for k := from; k < to; k++ {
		head += "  " + heads[k] + blanks(heads[k], widths[k])
	}
	m.line(m.paint(quiet, strings.TrimRight(head, " ")))
	for i, f := range t.From {
		line := f + blanks(f, first)
		for k := from; k < to; k++ {
			c := t.Cells[i][k]
			look := odd
			switch {
			case c.Disagrees:
				look = bad
			case len(c.Expected) == 1 && c.Expected[0] == flow.Connected:
				look = good
			}
			line += "  " + m.paint(look, c.text()) + blanks(c.text(), widths[k])
		}
		m.line(line)
	}
}

// ReachJSON renders truth tables as an indented JSON array.
func ReachJSON(tables []Reachability) ([]byte, error) {
	if tables == nil {
		tables = []Reachability{}
	}
	return indented(tables, true)
}
