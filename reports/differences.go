package reports

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Differences shows where packets through the rules of an agent do not do what netlab's own rules
// predict: a row for each pair of dialer and target; below, what else failed, what was skipped and
// a summary in one line.
func Differences(r Report, agent string, colour bool) string {
	r = r.visible()
	m := newMatrix(colour)
	table := [][]string{{"CLAIM", "WHO", "TO", "PREDICTED", "THROUGH " + strings.ToUpper(agent)}}
	var others []Result
	for _, result := range r.Results {
		rows := 0
		for _, row := range result.Rows {
			if row.Disagrees {
				rows++
				table = append(table, []string{printable(result.Place() + " " + result.Name + variation(result)), printable(row.Who), printable(row.To), printable(prediction(row)), printable(row.Observed)})
			}
		}
		if rows == 0 && result.Status != Passed {
			others = append(others, result)
		}
	}
	if len(table) > 1 {
		m.table(table)
		m.line("")
	}
	for _, result := range others {
		sign, look := result.Status.look()
		why := result.Reason
		if result.Status != Skipped {
			why = "not as claimed, through the agent and by netlab's rules alike"
		}
		if result.Failure != "" {
			why = strings.ReplaceAll(result.Failure, "\n", "\n    ")
		}
		m.line(m.paint(look, sign) + " " + m.paint(quiet, result.Place()) + " " + printable(result.Title()+": "+result.Name+": "+why))
	}
	if len(others) > 0 {
		m.line("")
	}
	m.line(differing(r, len(table)-1, agent))
	return m.text.String()
}

// prediction is what was predicted, without what a row adds on how that was wrong.
func prediction(r Row) string {
	text := r.Predicted
	for _, more := range []string{" (observed but not predicted: ", " (predicted ("} {
		text, _, _ = strings.Cut(text, more)
	}
	return text
}

// variation is that of a result, in brackets.
func variation(r Result) string {
	if r.Variation == "" {
		return ""
	}
	return " [" + r.Variation + "]"
}

// differing is the summary.
func differing(r Report, pairs int, agent string) string {
	claims := r.Count(Passed) + r.Count(Failed) + r.Count(Disagreed)
	text := fmt.Sprintf("%d of %d claims hold through %s", r.Count(Passed), claims, agent)
	switch pairs {
	case 0:
		text += ", no packet differs"
	case 1:
		text += ", 1 pair differs"
	default:
		text += fmt.Sprintf(", %d pairs differ", pairs)
	}
	if n := r.Count(Skipped); n > 0 {
		text += fmt.Sprintf(", %d skipped", n)
	}
	return text + " in " + r.total().String()
}

// table writes lines of cells, the first of them the heads.
func (m *matrix) table(lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for i, cells := range lines {
		text := pad(cells, widths)
		if i == 0 {
			text = m.paint(quiet, text)
		}
		m.line(text)
	}
}
