package articles

import (
	"fmt"
	"strings"
)

// Markdown is scenarios/ARTICLES.md: every claim with its verdict and its proof.
func Markdown() (string, error) {
	proofs, err := Proofs()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`# What articles claim, and what the packets say

` + "`netlab tour --articles`" + ` writes this page. Four articles taught many how packets travel in Kubernetes; each of their
sentences that a packet can prove or refute is a row here, in our words. **holds**: it is so. **errs**: the packets refute
it, and the row says what happens instead. **depends on version**: it is so in some versions. The proof is an expectation of
a scenario that ships: ` + "`netlab test scenarios/FILE`" + ` tries it, with real packets.

`)
	verdicts := []Verdict{Holds, Errs, Depends, Open}
	b.WriteString("| article |")
	for _, v := range verdicts {
		fmt.Fprintf(&b, " %s |", v)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(verdicts)) + "\n")
	count := func(claims []Claim, v Verdict) (n int) {
		for _, c := range claims {
			if c.Verdict == v {
				n++
			}
		}
		return n
	}
	row := func(title string, claims []Claim) {
		fmt.Fprintf(&b, "| %s |", title)
		for _, v := range verdicts {
			fmt.Fprintf(&b, " %d |", count(claims, v))
		}
		b.WriteString("\n")
	}
	for _, a := range All() {
		row(a.Title, a.Claims)
	}
	row("all", Claims())
	for _, a := range All() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| no. | section | claim | verdict | proof |\n|---|---|---|---|---|\n", a.Title, a.Where)
		for _, c := range a.Claims {
			verdict := "**" + string(c.Verdict) + "**"
			if c.Why != "" {
				verdict += ": " + c.Why
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", c.Number, cell(c.Section), cell(c.Says), cell(verdict), cell(proof(c, proofs[c.Number])))
		}
	}
	return b.String(), nil
}

// proof is what proves a claim, with links to the scenarios.
func proof(c Claim, by []Proof) string {
	var out []string
	if c.Refusal != nil {
		out = append(out, fmt.Sprintf("netlab validate: %q", c.Refusal.Because))
	}
	last := ""
	for _, p := range by {
		if p.Lab.Path != last {
			out = append(out, fmt.Sprintf("[%s](%s): %q", p.Lab.Name, p.Lab.Path, p.Expect))
			last = p.Lab.Path
			continue
		}
		out[len(out)-1] += fmt.Sprintf(", %q", p.Expect)
	}
	return strings.Join(out, "; ")
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
