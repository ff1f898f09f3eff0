package kubeapi

import (
	"fmt"
	"slices"
	"strings"
)

// maxTerms bounds what a selector may hold.
const maxTerms = 256

// term is one condition of a selector: the key has one of the values, or (not) so, or is there.
type term struct {
	key    string
	values []string
	exists bool // whatever the value
	not    bool
}

func (t term) holds(value string, has bool) bool {
	if t.exists {
		return has != t.not
	}
	return (has && slices.Contains(t.values, value)) != t.not
}

// labelSelector reads a label selector: a=b, a!=b, a in (b,c), a notin (b,c), a, !a.
func labelSelector(s string) ([]term, error) {
	var terms []term
	for rest := strings.TrimSpace(s); rest != ""; {
		if len(terms) == maxTerms {
			return nil, fmt.Errorf("a selector of more than %d terms", maxTerms)
		}
		var one string
		one, rest = nextTerm(rest)
		t, err := labelTerm(strings.TrimSpace(one))
		if err != nil {
			return nil, fmt.Errorf("unable to parse requirement: %w", err)
		}
		terms = append(terms, t)
	}
	return terms, nil
}

// nextTerm cuts at the first comma that is not in parentheses.
func nextTerm(s string) (one, rest string) {
	inside := false
	for i := range len(s) {
		switch s[i] {
		case '(':
			inside = true
		case ')':
			inside = false
		case ',':
			if !inside {
				return s[:i], strings.TrimSpace(s[i+1:])
			}
		}
	}
	return s, ""
}

func labelTerm(s string) (term, error) {
	if key, not := strings.CutPrefix(s, "!"); not && isKey(strings.TrimSpace(key)) {
		return term{key: strings.TrimSpace(key), exists: true, not: true}, nil
	}
	for _, word := range []string{" notin ", " in "} {
		key, list, found := strings.Cut(strings.Replace(s, "(", " (", 1), word)
		list = strings.TrimSpace(list)
		if !found {
			continue
		}
		if !isKey(strings.TrimSpace(key)) || len(list) < 2 || list[0] != '(' || list[len(list)-1] != ')' {
			break
		}
		values := strings.Split(list[1:len(list)-1], ",")
		if len(values) > maxTerms {
			return term{}, fmt.Errorf("more than %d values", maxTerms)
		}
		for i := range values {
			values[i] = strings.TrimSpace(values[i])
		}
		return term{key: strings.TrimSpace(key), values: values, not: word == " notin "}, nil
	}
	if key, value, ok := equation(s); ok && isKey(key.text) && isValue(value) {
		return term{key: key.text, values: []string{value}, not: key.not}, nil
	}
	if isKey(s) {
		return term{key: s, exists: true}, nil
	}
	return term{}, fmt.Errorf("invalid term %q", s)
}

type leftSide struct {
	text string
	not  bool
}

// equation takes a=b, a==b and a!=b apart.
func equation(s string) (left leftSide, value string, ok bool) {
	key, value, ok := strings.Cut(s, "=")
	value = strings.TrimPrefix(value, "=")
	key, not := strings.CutSuffix(key, "!")
	return leftSide{strings.TrimSpace(key), not}, strings.TrimSpace(value), ok
}

func isKey(s string) bool { return s != "" && len(s) <= 317 && isValue(strings.Replace(s, "/", "", 1)) }

func isValue(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-')
	}) < 0
}

// fieldSelector reads a field selector: a=b, a!=b. As in a real server, only some fields of a
// kind can be selected.
func fieldSelector(s string, r *resource) ([]term, error) {
	var terms []term
	for one := range strings.SplitSeq(s, ",") {
		if one == "" {
			continue
		}
		if len(terms) == maxTerms {
			return nil, fmt.Errorf("a selector of more than %d terms", maxTerms)
		}
		key, value, ok := equation(one)
		if !ok {
			return nil, fmt.Errorf("invalid selector: '%s'; can't understand '%s'", s, one)
		}
		if key.text != "metadata.name" && (key.text != "metadata.namespace" || !r.namespaced) && !slices.Contains(r.fields, key.text) {
			return nil, fmt.Errorf("field label not supported: %s", key.text)
		}
		terms = append(terms, term{key: key.text, values: []string{value}, not: key.not})
	}
	return terms, nil
}

// selection says which objects of a kind a request is about.
type selection struct {
	namespace, name string // "": any
	labels, fields  []term
}

func (s *selection) has(e *entry) bool {
	if e == nil || s.namespace != "" && e.namespace != s.namespace || s.name != "" && e.name != s.name {
		return false
	}
	for _, t := range s.labels {
		if value, has := e.labels[t.key]; !t.holds(value, has) {
			return false
		}
	}
	for _, t := range s.fields {
		value := text(e.object, strings.Split(t.key, ".")...)
		if t.key == "spec.hostNetwork" && value == "" || t.key == "spec.unschedulable" && value == "" {
			value = "false"
		}
		if !t.holds(value, true) {
			return false
		}
	}
	return true
}
