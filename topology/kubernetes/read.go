package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/netlab/netlab/topology"
)

// Lost is something that is not carried over, and why.
type Lost struct {
	Block  string // the block that has the rest of it, such as pod.web; "": there is none
	Why    string
	Origin topology.Origin
}

// Objects are those of manifests, in their order.
type Objects struct {
	list []object
	lost []Lost
}

// Empty reports that there is nothing to make a lab of.
func (o *Objects) Empty() bool { return len(o.list) == 0 }

// Read adds the objects of a file: YAML or JSON, many documents, lists.
func (o *Objects) Read(file string, src []byte) topology.Problems {
	all := topology.Problems{}
	fail := func(line int, summary, format string, args ...any) topology.Problems {
		at := topology.Origin{File: file, Line: line, Column: 1, EndLine: line, EndColumn: 1}
		return append(all, topology.Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: at})
	}
	if bytes.IndexByte(src, 0) >= 0 || !utf8.Valid(src) {
		return fail(1, "Not a text file", "%s is not UTF-8 text. Name a manifest.", file)
	}
	if (bytes.Contains(src, []byte(`\/`)) || bytes.Contains(bytes.ToLower(src), []byte(`\ud`))) && json.Valid(src) {
		src = escapes.ReplaceAllFunc(src, plainly)
	}
	documents := yaml.NewDecoder(bytes.NewReader(src))
	for {
		var n yaml.Node
		err := documents.Decode(&n)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			line, why := syntax(err)
			return fail(line, "Invalid YAML", "The file is not YAML here: %s. Correct it.", why)
		}
		if len(n.Content) == 1 {
			all = append(all, o.document(file, n.Content[0], "", "")...)
		}
	}
}

// escapes are the strings of JSON that YAML would not read: with \/, or a character written as two.
var escapes = regexp.MustCompile(`"(?:[^"\\]|\\.)*\\[/u](?:[^"\\]|\\.)*"`)

// plainly is a string of JSON with as few escapes as possible.
func plainly(text []byte) []byte {
	var s string
	if json.Unmarshal(text, &s) != nil {
		return text // what matched is not a string, but what is between two
	}
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	_ = to.Encode(s) // a string can be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// syntax is the line and the reason of an error of the YAML library.
func syntax(err error) (int, string) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	m := regexp.MustCompile(`^line (\d+): (.*)$`).FindStringSubmatch(text)
	if m == nil {
		return 1, text
	}
	line, _ := strconv.Atoi(m[1])
	return line, m[2]
}

// document adds an object, or the items of a list, which may leave version and kind to the list.
func (o *Objects) document(file string, n *yaml.Node, version, kindName string) topology.Problems {
	d := &decoder{file: file, kind: "the object", aliased: maxAliased}
	switch {
	case n.Tag == "!!null":
		return nil
	case n.Kind != yaml.MappingNode:
		d.errorf(n, "Not an object", "A manifest is an object with apiVersion and kind, not %s. Correct it, or remove the document.", describe(n))
		return d.problems
	}
	var at, versionAt, items *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch value := n.Content[i+1]; n.Content[i].Value {
		case "kind":
			kindName, at = value.Value, value
		case "apiVersion":
			version, versionAt = value.Value, value
		case "items":
			items = value
		}
	}
	if of, list := strings.CutSuffix(kindName, "List"); list && items != nil {
		var all topology.Problems
		for _, item := range items.Content {
			all = append(all, o.document(file, item, version, of)...)
		}
		return all
	}
	k, carried := kinds[kindName]
	switch {
	case kindName == "":
		d.errorf(n, "Object without kind", "A manifest says what it is. Add apiVersion and kind.")
	case !carried:
		o.other(d, n, at, kindName)
	case version == "":
		d.errorf(n, "Object without apiVersion", "A %s needs its version. Add apiVersion: %s.", kindName, k.versions[0])
	case !slices.Contains(k.versions, version):
		where := versionAt
		if where == nil {
			where = n
		}
		d.errorf(where, "Unknown version", "There is no %s of version %q. Write apiVersion: %s.", kindName, shorten(version), topology.OneOf(k.versions))
	default:
		d.kind = kindName
		v := reflect.New(reflect.TypeOf(k.object))
		d.into(n, v.Elem(), "the object")
		h := v.Interface().(object).top()
		h.Kind.Value = kindName
		if !h.Meta.Name.Set && !h.Meta.GenerateName.Set {
			d.errorf(n, "Object without name", "A %s needs a name. Add metadata: { name: … }.", kindName)
			break
		}
		h.lost = d.lost
		o.list = append(o.list, v.Interface().(object))
	}
	return d.problems
}

// other judges an object of a kind that is not carried over.
func (o *Objects) other(d *decoder, n, at *yaml.Node, kindName string) {
	if at == nil {
		at = n
	}
	if slices.Contains(without, kindName) {
		return
	}
	why, explained := reasons[kindName]
	if near := topology.Nearest(kindName, known()); !explained && near != "" {
		d.errorf(at, "Unknown kind", "There is no kind %q. Did you mean %q?", shorten(kindName), near)
		return
	}
	if !explained {
		why = "this version of netlab does not know the kind"
	}
	o.lost = append(o.lost, Lost{Why: lineOf(kindName+nameOf(n)) + ": " + why, Origin: d.origin(at)})
}

// lineOf is a text of a manifest in a message: one line, and not too long.
func lineOf(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
		s = strings.Trim(strconv.Quote(s), `"`)
	}
	return shorten(s)
}

// nameOf is the name of an object of any kind.
func nameOf(n *yaml.Node) string {
	for _, key := range []string{"metadata", "name"} {
		var found *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = n.Content[i+1]
			}
		}
		if n = found; n == nil {
			return ""
		}
	}
	return " " + n.Value
}
