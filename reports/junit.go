package reports

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// The elements of the JUnit XML that continuous integration reads; attributes in
// the order of the schema of the Ant task.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		File string `xml:"file,attr"`
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"` // seconds
	}
	junitCase struct {
		Name      string           `xml:"name,attr"`
		ClassName string           `xml:"classname,attr"`
		File      string           `xml:"file,attr"`
		Line      int              `xml:"line,attr,omitempty"`
		Time      string           `xml:"time,attr"`
		Proves    *junitProperties `xml:"properties"`
		Skipped   *junitSkipped    `xml:"skipped"`
		Failure   *junitFailure    `xml:"failure"`
		Out       *junitOut        `xml:"system-out"`
	}
	junitProperties struct {
		Property []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",cdata"`
	}
	junitOut struct {
		Text string `xml:",cdata"`
	}
)

// JUnit renders a report as JUnit XML: a testsuite per scenario, a testcase per
// expectation.
func JUnit(r Report) ([]byte, error) {
	r = r.visible()
	all := junitSuites{junitCounts: countsOf(r)}
	for _, results := range r.scenarios() {
		suite := junitSuite{Name: results[0].Title(), File: results[0].File, junitCounts: countsOf(Report{Results: results})}
		for _, result := range results {
			suite.Cases = append(suite.Cases, caseOf(result))
		}
		all.Suites = append(all.Suites, suite)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render JUnit XML: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func countsOf(r Report) junitCounts {
	return junitCounts{
		Tests: len(r.Results), Failures: r.Count(Failed) + r.Count(Disagreed), Skipped: r.Count(Skipped), Time: junitTime(r.total()),
	}
}

func junitTime(s Seconds) string { return fmt.Sprintf("%.3f", time.Duration(s).Seconds()) }

func caseOf(r Result) junitCase {
	c := junitCase{Name: r.Name, ClassName: r.Title(), File: r.File, Line: r.Line, Time: junitTime(r.Duration)}
	if len(r.Proves) > 0 {
		c.Proves = &junitProperties{}
		for _, what := range r.Proves {
			c.Proves.Property = append(c.Proves.Property, junitProperty{"proves", what})
		}
	}
	switch r.Status {
	case Skipped:
		c.Skipped = &junitSkipped{Message: r.Reason}
	case Failed:
		c.Failure = &junitFailure{Message: firstFailure(r), Type: "expectation", Text: failureText(r)}
	case Disagreed:
		c.Failure = &junitFailure{Message: firstFailure(r), Type: "disagreement", Text: failureText(r)}
	}
	var out []string
	if r.Table != nil {
		out = append(out, r.Truth())
	}
	if w := widths([]Result{r}); w != nil {
		out = append(out, pad(columns[:], w))
		for _, row := range r.shown() {
			out = append(out, pad(row.cells(), w))
		}
	}
	for _, w := range r.Warnings {
		out = append(out, "warning: "+w)
	}
	if len(out) > 0 {
		c.Out = &junitOut{printable(strings.Join(out, "\n"))}
	}
	return c
}

// firstFailure is the failure in one line.
func firstFailure(r Result) string {
	for _, row := range r.Rows {
		if row.Disagrees {
			return fmt.Sprintf("%s: predicted %s; observed %s", row.Title(), row.Predicted, row.Observed)
		}
		seen := "observed " + row.Observed
		if row.Observed == "" {
			seen = "predicted " + row.Predicted
		}
		if !row.OK {
			parts := append([]string{"wanted " + row.Wanted, seen}, row.Policies...)
			return fmt.Sprintf("%s: %s", row.Title(), strings.Join(parts, "; "))
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(r.Failure), "\n")
	return first
}

func failureText(r Result) string {
	lines := []string{r.Place()}
	for _, row := range r.Rows {
		if row.wrong() {
			lines = append(lines, row.Title(), details(row, "  "))
		}
	}
	if r.Failure != "" {
		lines = append(lines, strings.TrimSpace(r.Failure))
	}
	return printable(strings.Join(lines, "\n"))
}
