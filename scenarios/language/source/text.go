package source

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// checkText rejects what is not text, and text that would exhaust the parser or the
// stack.
func checkText(c *Collector, src []byte, name string) bool {
	if bytes.IndexByte(src, 0) >= 0 || !utf8.Valid(src) {
		c.Errorf(hcl.Range{Filename: name}, "Not a text file", "%s is not UTF-8 text. Name a scenario.", name)
		return false
	}
	if strings.HasSuffix(name, ".json") {
		return checkJSON(c, src, name)
	}
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos) // the parser reports its errors
	if at := TooDeep(tokens); at != nil {
		c.Errorf(*at, "Nested too deeply",
			"Expressions nest deeper than %d brackets or %d operators here. Use locals to split them.", MaxDepth, maxOperators)
		return false
	}
	return true
}

// TooDeep is where brackets or operators nest deeper than evaluation may recurse; nil:
// nowhere.
func TooDeep(tokens hclsyntax.Tokens) *hcl.Range {
	depth, operators := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp,
			hclsyntax.TokenTemplateControl, hclsyntax.TokenOQuote:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenCQuote:
			depth--
		case hclsyntax.TokenNewline, hclsyntax.TokenComma:
			if depth == 0 || t.Type == hclsyntax.TokenComma {
				operators = 0
			}
		case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenPlus, hclsyntax.TokenStar, hclsyntax.TokenSlash,
			hclsyntax.TokenPercent, hclsyntax.TokenQuestion, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp,
			hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenGreaterThan, hclsyntax.TokenLessThanEq,
			hclsyntax.TokenGreaterThanEq, hclsyntax.TokenColon, hclsyntax.TokenDot, hclsyntax.TokenEllipsis:
			operators++
		}
		if depth > MaxDepth || operators > maxOperators {
			return &t.Range
		}
	}
	return nil
}

// checkJSON bounds a JSON file, and the expressions inside its strings.
func checkJSON(c *Collector, src []byte, name string) bool {
	d := json.NewDecoder(bytes.NewReader(src))
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			return true // the parser reports it, with the place
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
			if depth > MaxDepth {
				c.Errorf(hcl.Range{Filename: name}, "Nested too deeply", "Objects and arrays nest deeper than %d levels. Flatten them.", MaxDepth)
				return false
			}
		case string:
			if !checkTemplate(c, t, name) {
				return false
			}
		}
	}
}

func checkTemplate(c *Collector, text, name string) bool {
	tokens, _ := hclsyntax.LexTemplate([]byte(text), name, hcl.InitialPos)
	if TooDeep(tokens) != nil {
		c.Errorf(hcl.Range{Filename: name}, "Nested too deeply", "An expression in a string nests too deeply. Use locals to split it.")
		return false
	}
	return true
}
