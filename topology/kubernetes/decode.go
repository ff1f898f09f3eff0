package kubernetes

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/netlab/netlab/topology"
)

const (
	// maxDepth bounds how deep values nest, as in scenarios.
	maxDepth = 200
	// maxAliased bounds the values that the aliases of a document repeat.
	maxAliased = 10_000
)

// decoder stores a document in structs, and reports what does not fit.
type decoder struct {
	file     string
	part     value  // of the file
	kind     string // of the object, for messages
	problems topology.Problems
	lost     []Lost
	aliased  int // values left that aliases may repeat
	inAlias  int
	depth    int
}

func (d *decoder) errorf(n *yaml.Node, summary, format string, args ...any) {
	d.problems = append(d.problems, topology.Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: d.origin(n)})
}

// origin is the place of a value: of a scalar all of it, of anything else where it begins.
func (d *decoder) origin(n *yaml.Node) topology.Origin {
	o := topology.Origin{File: d.file, Line: n.Line, Column: n.Column, EndLine: n.Line, EndColumn: n.Column + 1}
	if n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n") {
		o.EndColumn = n.Column + max(1, len([]rune(n.Value)))
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			o.EndColumn += 2
		}
	}
	if n.Line == 1 {
		o.Column, o.EndColumn = o.Column+d.part.column, o.EndColumn+d.part.column
	}
	o.Line, o.EndLine = o.Line+d.part.line, o.EndLine+d.part.line
	return o
}

// enter is the value itself, or the one that an alias repeats, until leave is called. Once there
// were too many, or they nested too deeply, aliased is negative.
func (d *decoder) enter(n *yaml.Node) (of *yaml.Node, leave func()) {
	alias := 0
	if n.Kind == yaml.AliasNode {
		n, alias = n.Alias, 1
	}
	if d.inAlias += alias; d.inAlias > 0 {
		d.aliased--
	}
	switch d.depth++; {
	case d.aliased == -1:
		d.errorf(n, "Too many aliases", "The aliases of this document repeat more than %d values. Write them out.", maxAliased)
	case d.aliased >= 0 && d.depth > maxDepth:
		d.errorf(n, "Nested too deeply", "Values nest deeper than %d levels here. Flatten them.", maxDepth)
		d.aliased = -2 // reported, and whatever follows would be, too
	}
	return n, func() { d.depth, d.inAlias = d.depth-1, d.inAlias-alias }
}

// into stores a value. Path is how messages call it.
func (d *decoder) into(n *yaml.Node, v reflect.Value, path string) {
	n, leave := d.enter(n)
	defer leave()
	if d.aliased < 0 || n.Tag == "!!null" {
		return // as if it were not there
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch o := v.Addr().Interface().(type) {
	case *topology.Opt[string]:
		if *o = scalar(d, n, path, "a string", "Put it in quotes.", text); o.Set && o.Value == "" {
			*o = str{} // as the API has it, and tools write it
		}
	case *given:
		*o = given(scalar(d, n, path, "a string", "Put it in quotes.", text))
	case *number:
		*o = number(scalar(d, n, path, "a string or a number", "Write one of them.", textOrNumber))
	case *topology.Opt[int]:
		*o = scalar(d, n, path, "a number", "Write it in digits, without quotes.", digits)
	case *topology.Opt[bool]:
		*o = scalar(d, n, path, "true or false", "Write one of them, without quotes.", boolean)
	case *permissions:
		*o = permissions(scalar(d, n, path, "a number", "Write it in octal digits that begin with 0, without quotes, or in JSON in decimal ones.", whole))
	case *map[string]string:
		if n.Kind == yaml.MappingNode {
			*o = map[string]string{}
		}
		d.stringMap(n, path, func(key string, v str) { (*o)[key] = v.Value })
	case *entries:
		*o = entries{}
		d.stringMap(n, path, func(key string, v str) { (*o)[key] = v })
	default:
		if v.Kind() == reflect.Slice {
			d.list(n, v, path)
		} else {
			d.object(n, v, path)
		}
	}
}

// number is text that may be written as a number: a port, for example.
type number topology.Opt[string]

// given is text that means something if it is empty, which other text does not: the API has a
// pointer there.
type given topology.Opt[string]

// permissions are those of a file, as a number that people write in octal digits.
type permissions topology.Opt[int]

// whole is a number in any digits: 0644 is octal, by YAML 1.1.
func whole(n *yaml.Node) (v int, ok bool) { return v, n.Tag == "!!int" && n.Decode(&v) == nil }

// scalar is a value that is neither a list nor a map.
func scalar[T any](d *decoder, n *yaml.Node, path, what, fix string, read func(*yaml.Node) (T, bool)) topology.Opt[T] {
	if n.Kind == yaml.ScalarNode {
		if v, ok := read(n); ok {
			return topology.Opt[T]{Value: v, Set: true, Origin: d.origin(n)}
		}
	}
	switch {
	case templated(n):
		fix = templateAdvice
	case n.Kind != yaml.ScalarNode:
		fix = "Write one value there."
	}
	d.errorf(n, "Wrong type", "%s of %s must be %s, not %s. %s", path, d.kind, what, describe(n), fix)
	return topology.Opt[T]{Origin: d.origin(n)}
}

// templated reports {{ … }}, which is YAML of an object whose key is an object.
func templated(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode
}

func text(n *yaml.Node) (string, bool) {
	// A bare date is a timestamp to YAML, and a string to Kubernetes.
	_, truth := truths[n.Value]
	return n.Value, n.Tag == "!!str" && !(truth && n.Style == 0) || n.Tag == "!!timestamp" || n.Tag == "!!binary"
}

// truths are true and false in YAML 1.1, by which Kubernetes reads manifests.
var truths = map[string]bool{"yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false}

func textOrNumber(n *yaml.Node) (string, bool) {
	if v, ok := digits(n); ok {
		return strconv.Itoa(v), true
	}
	return text(n)
}

func digits(n *yaml.Node) (int, bool) {
	v, err := strconv.ParseInt(n.Value, 10, 32)
	return int(v), err == nil && n.Tag == "!!int"
}

func boolean(n *yaml.Node) (bool, bool) {
	if v, truth := truths[n.Value]; truth && n.Style == 0 && n.Tag == "!!str" {
		return v, true
	}
	v, err := strconv.ParseBool(n.Value)
	return v, err == nil && n.Tag == "!!bool"
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	}
	if _, truth := truths[n.Value]; n.Tag == "!!str" && !(truth && n.Style == 0) {
		return "the string " + strconv.Quote(shorten(n.Value))
	}
	return shorten(n.Value)
}

// shorten keeps a message readable when a value is not.
func shorten(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:80], "") + "…"
}

// stringMap takes the strings of an object.
func (d *decoder) stringMap(n *yaml.Node, path string, take func(key string, v str)) {
	if n.Kind != yaml.MappingNode {
		d.errorf(n, "Wrong type", "%s of %s must be an object with strings, not %s. Write, for example, app: web below it.", path, d.kind, describe(n))
		return
	}
	for key, value := range d.fields(n, path) {
		if key.Value == "matchLabels" && value.Kind == yaml.MappingNode {
			d.errorf(key, "Unknown field", "%s has labels and their values, and no matchLabels. Leave the word out.", d.of(path))
			continue
		}
		of, leave := d.enter(value)
		v := str{Origin: d.origin(key)}
		if of.Tag != "!!null" { // which is no text
			v = scalar(d, of, path+"."+key.Value, "a string", "Put it in quotes.", text)
		}
		if leave(); d.aliased >= 0 && (v.Set || of.Tag == "!!null") {
			take(key.Value, v)
		}
	}
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.errorf(n, "Wrong type", "%s of %s must be a list, not %s. Begin its items with \"- \".", path, d.kind, describe(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.into(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

// fields are the keys and values of an object, those of merged ones last, each key once.
func (d *decoder) fields(n *yaml.Node, path string) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]bool{}
		var merged []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			switch {
			case key.Tag == "!!merge":
				merged = append(merged, value)
				continue
			case key.Kind != yaml.ScalarNode:
				d.errorf(key, "Wrong type", "A key in %s of %s must be a string, not %s. Write a name.", path, d.kind, describe(key))
				continue
			case seen[key.Value]:
				d.errorf(key, "Duplicate field", "%s has %q twice. Remove one of them.", d.of(path), shorten(key.Value))
				continue
			}
			seen[key.Value] = true
			if !yield(key, value) {
				return
			}
		}
		for _, m := range merged {
			if m.Kind == yaml.AliasNode {
				m = m.Alias
			}
			if d.aliased -= len(m.Content); d.aliased < 0 || m.Kind != yaml.MappingNode {
				d.errorf(n, "Merge not possible", "The key << of %s needs an alias of an object that is not too large. Write the fields out.", path)
				return
			}
			for i := 0; i+1 < len(m.Content); i += 2 {
				if key := m.Content[i]; !seen[key.Value] && key.Kind == yaml.ScalarNode {
					seen[key.Value] = true
					if !yield(key, m.Content[i+1]) {
						return
					}
				}
			}
		}
	}
}

// object stores the fields of an object where the tags of a struct say.
func (d *decoder) object(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.errorf(n, "Wrong type", "%s of %s must be an object, not %s. Write its fields below it.", path, d.kind, describe(n))
		return
	}
	if o := v.FieldByName("Origin"); o.IsValid() {
		o.Set(reflect.ValueOf(d.origin(n)))
	}
	for key, value := range d.fields(n, path) {
		d.field(key, value, v, path)
	}
}

func (d *decoder) field(key, value *yaml.Node, v reflect.Value, path string) {
	of := tables[v.Type()]
	name := strings.TrimPrefix(path+"."+key.Value, "the object.")
	switch index, read := of.read[key.Value]; {
	case read && of.has(key.Value, d.kind):
		d.into(value, v.FieldByIndex(index), name)
	case slices.Contains(of.lost, key.Value):
		if !empty(value) {
			d.lost = append(d.lost, Lost{Why: fmt.Sprintf("%s: %s", lineOf(name), reasons[key.Value]), Origin: d.origin(key)})
		}
	case !slices.Contains(of.ignored, key.Value):
		known := append(slices.Clone(of.ignored), of.lost...)
		for k := range of.read {
			if of.has(k, d.kind) {
				known = append(known, k)
			}
		}
		hint := topology.DidYouMean(key.Value, known)
		if hint == "" {
			hint = " " + cmp.Or(of.hint, "Correct it, or remove it.")
		}
		d.errorf(key, "Unknown field", "%s has no field %q.%s", d.of(path), shorten(key.Value), hint)
	}
}

// of is a path and what it is a part of.
func (d *decoder) of(path string) string {
	if path == "the object" {
		return "The " + d.kind
	}
	return path + " of " + d.kind
}

// empty reports a value that says nothing, as tools like to write them.
func empty(n *yaml.Node) bool {
	return n.Tag == "!!null" || n.Kind != yaml.ScalarNode && n.Kind != yaml.AliasNode && len(n.Content) == 0 || n.Kind == yaml.ScalarNode && n.Value == ""
}

// schema is what the tags of a struct say.
type schema struct {
	read          map[string][]int
	of            map[string][]string // the kinds that have a field; not there: all that have the struct
	ignored, lost []string
	hint          string // what to do about an unknown field
}

// has reports that a field is there in objects of a kind.
func (s *schema) has(field, kind string) bool {
	of, some := s.of[field]
	return !some || slices.Contains(of, kind)
}

// schemas are those of the structs that were met.
type schemas map[reflect.Type]*schema

func (all schemas) add(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	own := reflect.TypeFor[schema]().PkgPath()
	if t.Kind() != reflect.Struct || all[t] != nil || t.PkgPath() != "" && t.PkgPath() != own {
		return
	}
	s := &schema{read: map[string][]int{}, of: map[string][]string{}}
	all[t] = s
	all.fields(s, t, nil)
}

// fields adds those of a struct, and of the structs embedded in it.
func (all schemas) fields(s *schema, t reflect.Type, index []int) {
	for i := range t.NumField() {
		f, at := t.Field(i), append(slices.Clone(index), i)
		switch name := f.Tag.Get("k"); {
		case f.Anonymous:
			all.fields(s, f.Type, at)
		case f.Name == "_":
			s.ignored, s.lost = append(s.ignored, strings.Fields(name)...), append(s.lost, strings.Fields(f.Tag.Get("lost"))...)
			s.hint = cmp.Or(f.Tag.Get("hint"), s.hint)
		case name != "":
			s.read[name] = at
			if of := f.Tag.Get("of"); of != "" {
				s.of[name] = strings.Fields(of)
			}
			all.add(f.Type)
		}
	}
}
