package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
)

// Whatever the texts of a report are, readers of XML and HTML find them as texts, and no
// terminal is controlled by them.
func FuzzReports(f *testing.F) {
	for _, text := range []string{
		"plain", "\x1b]0;title\a\x1b[2J", "\u009b31m", "\u202egpj.exe", "]]>", "</pre><script>alert(1)</script>", "<![CDATA[", "&lt;\x00\ufffe\uffff", "\xff\xfe", "a\r\nb\tc", "-->", "\" onload=\"x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := Report{Results: []Result{
			{Scenario: text, Variation: "v", File: text, Line: 1, Name: text, Claim: text, Status: Failed, Failure: text, Warnings: []string{text},
				Rows: []Row{{Who: text, To: text, Wanted: text, Observed: text, Predicted: text}}},
			{Scenario: text, File: text, Name: text, Status: Skipped, Reason: text},
			{Scenario: text, File: text, Name: text, Status: Disagreed, Rows: []Row{{Who: text, To: text, Disagrees: true, Predicted: text, Observed: text}}},
		}}
		junit, err := JUnit(r)
		if err != nil {
			t.Fatal(err)
		}
		var back junitSuites
		if err := xml.Unmarshal(junit, &back); err != nil || len(back.Suites) == 0 || back.Suites[0].File != attribute(printable(text)) {
			t.Errorf("XML: %v, %+v of %q", err, back.Suites, text)
		}
		page, err := HTML(r)
		if err != nil {
			t.Fatal(err)
		}
		tokens := html.NewTokenizer(bytes.NewReader(page))
		for {
			kind := tokens.Next()
			if kind == html.ErrorToken {
				if !errors.Is(tokens.Err(), io.EOF) {
					t.Errorf("HTML: %v", tokens.Err())
				}
				break
			}
			if token := tokens.Token(); kind == html.StartTagToken && (token.Data == "script" || len(token.Attr) > 2) {
				t.Errorf("HTML: %v of %q", token, text)
			}
		}
		for name, shown := range map[string]string{"XML": string(junit), "HTML": string(page), "terminal": Matrix(r, false)} {
			if i := strings.IndexFunc(shown, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("%s: %q is sent, in %q", name, shown[i:min(len(shown), i+10)], text)
			}
		}
		if r.Results[0].Name != text || r.Results[0].Warnings[0] != text || r.Results[0].Rows[0].Who != text {
			t.Error("the report itself was changed")
		}
	})
}

// attribute is a text as XML gives it back from an attribute.
func attribute(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
