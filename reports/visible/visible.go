// Package visible shows characters that would act on whoever reads a text: those that control
// a terminal, change the direction of text, or are invalid in XML. It does not know who reads.
package visible

import (
	"strconv"
	"strings"
	"unicode"
)

// Text shows such characters as Go and C write them: \x1b. The ends of lines and tabs stay; what
// is not UTF-8 is shown as the replacement character.
func Text(s string) string {
	s = strings.ToValidUTF8(s, string(unicode.ReplacementChar))
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
