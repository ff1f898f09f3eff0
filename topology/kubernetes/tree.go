package kubernetes

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// tree is an object that is written: its fields, in order. It is YAML in a manifest and JSON in
// what a lab serves.
type tree []field

type field struct {
	key   string
	value any // string, int, bool, []string, tree, []tree
}

// fields is an object of keys and values; nil and empty ones are left out, but not objects
// without fields.
func fields(pairs ...any) tree {
	out := make(tree, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		value := pairs[i+1]
		absent := value == nil
		switch v := value.(type) {
		case string:
			absent = v == ""
		case tree:
			absent = v == nil
		case []string:
			absent = len(v) == 0
		case []tree:
			absent = len(v) == 0
		case map[string]string:
			absent = len(v) == 0
			if !absent {
				value = labelTree(v)
			}
		}
		if !absent {
			out = append(out, field{pairs[i].(string), value})
		}
	}
	return out
}

func labelTree(labels map[string]string) tree {
	out := make(tree, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, field{k, labels[k]})
	}
	return out
}

// some is an object that has a field, else nothing.
func some(t tree) tree {
	if len(t) == 0 {
		return nil
	}
	return t
}

// present is a number that is there, or a bool that is true.
func present[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func (t tree) yaml() *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range t {
		out.Content = append(out.Content, encoded(f.key), yamlOf(f.value))
	}
	return out
}

func yamlOf(value any) *yaml.Node {
	switch v := value.(type) {
	case tree:
		return v.yaml()
	case []tree:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, t := range v {
			out.Content = append(out.Content, t.yaml())
		}
		return out
	}
	return encoded(value)
}

func encoded(v any) *yaml.Node {
	n := &yaml.Node{}
	_ = n.Encode(v) // strings, numbers and lists of them always encode
	return n
}

// raw is an object in JSON: the value of the only field, without a name, of a tree that is
// written more than once.
type raw []byte

// appendJSON appends the object in one line.
func (t tree) appendJSON(b []byte) []byte {
	if len(t) == 1 {
		if r, is := t[0].value.(raw); is {
			return append(b, r...)
		}
	}
	b = append(b, '{')
	for i, f := range t {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, f.key)
		b = append(b, ':')
		b = appendValue(b, f.value)
	}
	return append(b, '}')
}

func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendText(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case bool:
		return strconv.AppendBool(b, v)
	case tree:
		return v.appendJSON(b)
	case []string:
		return appendList(b, v, appendText)
	case []tree:
		return appendList(b, v, func(b []byte, t tree) []byte { return t.appendJSON(b) })
	}
	panic("a field of an object that is no value of JSON")
}

func appendList[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	return append(b, ']')
}

// appendText appends a string. Most are plain, and encoding/json takes ten times as long.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			text, _ := json.Marshal(s) // a string always encodes
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
