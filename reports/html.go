package reports

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
)

//go:embed report.html
var page string

// HTML renders a report as one self-contained page.
func HTML(r Report) ([]byte, error) {
	t, err := template.New("report").Funcs(template.FuncMap{
		"printable": printable, "details": func(row Row) string { return details(row, "") },
	}).Parse(page)
	if err != nil {
		return nil, fmt.Errorf("render HTML: %w", err)
	}
	r = r.visible()
	var text bytes.Buffer
	data := struct {
		Summary   string
		Columns   []string
		Scenarios [][]Result
	}{summary(r), columns[:], r.scenarios()}
	if err := t.Execute(&text, data); err != nil {
		return nil, fmt.Errorf("render HTML: %w", err)
	}
	return text.Bytes(), nil
}

// Mark is the sign of the result's status.
func (r Result) Mark() string {
	sign, _ := r.Status.look()
	return sign
}

// Shown are the rows with a line of their own.
func (r Result) Shown() []Row { return r.shown() }

// Cells are the row's columns, as in the table of Matrix.
func (r Row) Cells() []string { return r.cells() }

// Wrong reports whether the row is not as claimed, or not as predicted.
func (r Row) Wrong() bool { return r.wrong() }
