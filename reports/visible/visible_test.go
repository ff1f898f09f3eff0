package visible

import "testing"

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"a ü → 日本\n\tb":             "a ü → 日本\n\tb",
		"\x1b]0;title\a\x1b[2J":     `\x1b]0;title\a\x1b[2J`,
		"a\rb\x00\x7f\u009b":        `a\rb\x00\x7f\u009b`,
		"\u202egpj.exe\u200b\ufeff": `\u202egpj.exe\u200b\ufeff`,
		"a\xff\xfeb\xff":            "a\ufffdb\ufffd",
		"\ufffe\uffff":              `\ufffe\uffff`,
		"\u00a0\u2028":              `\u00a0\u2028`,
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if again := Text(Text(in)); again != Text(in) {
			t.Errorf("%q: shown twice it is %q", in, again)
		}
	}
}
