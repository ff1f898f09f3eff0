package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"
)

// The JSON field names are a contract: the Go structs may change without them.
type (
	jsonReport struct {
		Passed    int          `json:"passed"`
		Failed    int          `json:"failed"`
		Disagreed int          `json:"disagreed"`
		Skipped   int          `json:"skipped"`
		Seconds   float64      `json:"seconds"` // wall time
		Paper     bool         `json:"paper,omitempty"`
		NotRun    int          `json:"not_run,omitempty"`
		Results   []jsonResult `json:"results"`
	}
	jsonResult struct {
		Scenario  string  `json:"scenario"`
		Variation string  `json:"variation,omitempty"`
		File      string  `json:"file"`
		Line      int     `json:"line,omitempty"`
		Name      string  `json:"name"`
		Claim     string  `json:"claim,omitempty"`
		Status    Status  `json:"status"`
		Reason    string  `json:"reason,omitempty"`
		Seconds   float64 `json:"seconds"`
		Rows      []Row   `json:"rows"`
		// Table is a truth table, in the form of ReachJSON.
		Table    *Reachability `json:"table,omitempty"`
		Failure  string        `json:"failure,omitempty"`
		Warnings []string      `json:"warnings,omitempty"`
	}
)

// JSON renders a report as one indented JSON object. Lists are never null.
func JSON(r Report) ([]byte, error) {
	all := jsonReport{
		Passed: r.Count(Passed), Failed: r.Count(Failed), Disagreed: r.Count(Disagreed), Skipped: r.Count(Skipped),
		Seconds: jsonSeconds(r.total()), Paper: r.Paper, NotRun: r.NotRun, Results: []jsonResult{},
	}
	for _, x := range r.Results {
		result := jsonResult{
			Scenario: x.Scenario, Variation: x.Variation, File: x.File, Line: x.Line, Name: x.Name, Claim: x.Claim,
			Status: x.Status, Reason: x.Reason, Seconds: jsonSeconds(x.Duration),
			Rows: []Row{}, Table: x.Table, Failure: x.Failure, Warnings: x.Warnings,
		}
		for _, row := range x.Rows {
			row.Outcomes = append([]Outcomes{}, row.Outcomes...)
			row.Sources = append([]netip.Addr{}, row.Sources...)
			row.Answers = append([]Answers{}, row.Answers...)
			result.Rows = append(result.Rows, row)
		}
		all.Results = append(all.Results, result)
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

// jsonSeconds rounds to milliseconds: more digits would be noise.
func jsonSeconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
