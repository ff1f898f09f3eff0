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
		Scenario  string    `json:"scenario"`
		Variation string    `json:"variation,omitempty"`
		File      string    `json:"file"`
		Line      int       `json:"line,omitempty"`
		Name      string    `json:"name"`
		Claim     string    `json:"claim,omitempty"`
		Status    Status    `json:"status"`
		Reason    string    `json:"reason,omitempty"`
		Seconds   float64   `json:"seconds"`
		Rows      []jsonRow `json:"rows"`
		// Table is a truth table, in the form of ReachJSON.
		Table    *Reachability `json:"table,omitempty"`
		Failure  string        `json:"failure,omitempty"`
		Warnings []string      `json:"warnings,omitempty"`
	}
	jsonRow struct {
		Who         string       `json:"who"`
		To          string       `json:"to"`
		OK          bool         `json:"ok"`
		Connections int          `json:"connections"`
		Again       int          `json:"dialed_again"`
		Outcomes    []Outcomes   `json:"outcomes"`
		Sources     []netip.Addr `json:"sources"`
		Answers     []Answers    `json:"answers"`
		TTLs        []int        `json:"ttls,omitempty"`
		Measured    string       `json:"measured,omitempty"`
		Wanted      string       `json:"wanted"`
		Observed    string       `json:"observed"`
		Predicted   string       `json:"predicted,omitempty"`
		Disagrees   bool         `json:"disagrees,omitempty"`
		Rules       []string     `json:"rules,omitempty"`
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
			Rows: []jsonRow{}, Table: x.Table, Failure: x.Failure, Warnings: x.Warnings,
		}
		for _, row := range x.Rows {
			result.Rows = append(result.Rows, jsonRow{
				Who: row.Who, To: row.To, OK: row.OK, Connections: row.Connections, Again: row.Again,
				Outcomes: append([]Outcomes{}, row.Outcomes...),
				Sources:  append([]netip.Addr{}, row.Sources...),
				Answers:  append([]Answers{}, row.Answers...),
				TTLs:     row.TTLs, Measured: row.Measured, Wanted: row.Wanted, Observed: row.Observed, Predicted: row.Predicted, Disagrees: row.Disagrees, Rules: row.Rules,
			})
		}
		all.Results = append(all.Results, result)
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // < and > are frequent in rules, and this is not embedded in HTML
	if err := e.Encode(all); err != nil {
		return nil, fmt.Errorf("render JSON: %w", err)
	}
	return text.Bytes(), nil
}

// jsonSeconds rounds to milliseconds: more digits would be noise.
func jsonSeconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
