package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
)

// JSON renders a report as one indented JSON object. Lists are never null.
func JSON(r Report) ([]byte, error) {
	all := struct {
		Passed    int      `json:"passed"`
		Failed    int      `json:"failed"`
		Disagreed int      `json:"disagreed"`
		Skipped   int      `json:"skipped"`
		Seconds   Seconds  `json:"seconds"` // wall time
		Paper     bool     `json:"paper,omitempty"`
		NotRun    int      `json:"not_run,omitempty"`
		Results   []Result `json:"results"`
		Wires     []Wire   `json:"wires,omitempty"`
	}{
		r.Count(Passed), r.Count(Failed), r.Count(Disagreed), r.Count(Skipped), r.total(), r.Paper, r.NotRun, []Result{}, r.Wires,
	}
	for _, x := range r.Results {
		rows := []Row{}
		for _, row := range x.Rows {
			row.Outcomes = append([]Outcomes{}, row.Outcomes...)
			row.Sources = append([]netip.Addr{}, row.Sources...)
			row.Answers = append([]Answers{}, row.Answers...)
			rows = append(rows, row)
		}
		x.Rows = rows
		all.Results = append(all.Results, x)
	}
	return indented(all, false) // < and > are frequent in rules, and this is not embedded in HTML
}

func indented(value any, escape bool) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(escape)
	if err := e.Encode(value); err != nil {
		return nil, fmt.Errorf("render JSON: %w", err)
	}
	return text.Bytes(), nil
}
