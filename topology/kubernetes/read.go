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
	Absent bool // the cluster has no pod of it either, so that the network has all of it
}

// Objects are those of manifests, in their order.
type Objects struct {
	list []object
	lost []Lost

	files map[string]bool // that were read
}

// Empty reports that there is nothing to make a lab of.
func (o *Objects) Empty() bool { return len(o.list) == 0 }

// Read adds the objects of a file: YAML or JSON, many documents, lists.
func (o *Objects) Read(file string, src []byte) topology.Problems {
	if o.files == nil {
		o.files = map[string]bool{}
	}
	o.files[file] = true
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
	for _, part := range values(src) {
		documents := yaml.NewDecoder(bytes.NewReader(part.text))
		for {
			var n yaml.Node
			err := documents.Decode(&n)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				if at, why, is := brokenJSON(part.text); is {
					return fail(at+part.line, "Invalid JSON", "The file is not JSON here: %s. Correct it.", why)
				}
				line, why := syntax(err)
				line = broken(part.text, line) + part.line
				return fail(line, "Invalid YAML", "The file is not YAML here: %s. %s", why, advice(src, line))
			}
			if len(n.Content) == 1 {
				d := &decoder{file: file, part: part, aliased: maxAliased}
				o.document(d, n.Content[0], "", "")
				all = append(all, d.problems...)
			}
		}
	}
	return all
}

const templateAdvice = "It looks like a template. Import what it makes, such as what helm template prints."

// advice is what to do about a line that is not YAML.
func advice(src []byte, line int) string {
	lines := bytes.SplitN(src, []byte("\n"), line+1)
	switch at := lines[min(line, len(lines))-1]; {
	case bytes.Contains(src, []byte("{{")):
		return templateAdvice
	case bytes.HasPrefix(bytes.TrimLeft(at, " "), []byte("\t")):
		return "Indent with spaces instead of tabs."
	}
	return "Correct it."
}

// value is a part of a file, and what is before it: lines, and characters of its first line.
type value struct {
	text         []byte
	line, column int
}

// values are the parts of a file: all of it, or the values of JSON that follow each other, as jq
// prints them, which together are no YAML.
func values(src []byte) (out []value) {
	if !bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) {
		return []value{{text: src}}
	}
	stream := json.NewDecoder(bytes.NewReader(src))
	from, next := 0, value{}
	for {
		var one json.RawMessage
		switch err := stream.Decode(&one); {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			return []value{{text: src}}
		}
		to := int(stream.InputOffset())
		next.text = src[from:to]
		out = append(out, next)
		next.line += bytes.Count(next.text, []byte("\n"))
		last := next.text
		if i := bytes.LastIndexByte(last, '\n'); i >= 0 {
			last, next.column = last[i+1:], 0
		}
		next.column += utf8.RuneCount(last)
		from = to
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

const (
	maxBroken = 64 << 10 // characters of a text in which the line is looked for
	maxLines  = 200      // lines that are looked at
)

// broken is the line that makes a text no YAML. The library says where the list or object began
// that it was reading, or the line before: whatever comes before the line is YAML on its own.
func broken(text []byte, line int) int {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(text) > maxBroken || line > len(lines) {
		return line
	}
	good := line - 1
	for n := line; n <= min(len(lines), line+maxLines); n++ {
		if readable(bytes.Join(lines[:n], nil)) {
			good = n
		}
	}
	if good == min(len(lines), line+maxLines) { // it is further away
		return line
	}
	return good + 1
}

// brokenJSON is the line that makes a text no JSON, if it is meant to be: it begins with an object
// whose first key is in quotes.
func brokenJSON(text []byte) (line int, why string, is bool) {
	in, object := bytes.CutPrefix(bytes.TrimSpace(text), []byte("{"))
	var syntax *json.SyntaxError
	if !object || !bytes.HasPrefix(bytes.TrimSpace(in), []byte(`"`)) || !errors.As(json.Unmarshal(text, new(json.RawMessage)), &syntax) {
		return 0, "", false
	}
	return 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n")), syntax.Error(), true
}

func readable(text []byte) bool {
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var n yaml.Node
		if err := documents.Decode(&n); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// document adds an object, or the items of a list, which may leave version and kind to the list.
func (o *Objects) document(d *decoder, n *yaml.Node, version, kindName string) {
	d.kind = "the object"
	n, leave := d.enter(n)
	defer leave()
	switch {
	case d.aliased < 0 || n.Tag == "!!null":
		return
	case n.Kind != yaml.MappingNode:
		d.errorf(n, "Not an object", "A manifest is an object with apiVersion and kind, not %s. Correct it, or remove the document.", describe(n))
		return
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
		items, leave := d.enter(items)
		defer leave()
		for _, item := range items.Content {
			o.document(d, item, version, of)
		}
		return
	}
	k, carried := kinds[kindName]
	switch {
	case kindName == "" && version == "" && kustomization.MatchString(d.file):
		o.lost = append(o.lost, Lost{Why: "Kustomization: " + reasons["Kustomization"], Origin: d.origin(n)})
	case kindName == "":
		d.errorf(n, "Object without kind", "A manifest says what it is. Add apiVersion and kind.")
	case !carried || !own(version):
		o.other(d, n, at, kindName, version)
	case version == "":
		d.errorf(n, "Object without apiVersion", "A %s needs its version. Add apiVersion: %s.", kindName, k.versions[0])
	case !slices.Contains(k.versions, version):
		where := versionAt
		if where == nil {
			where = n
		}
		d.errorf(where, "Unknown version", "There is no %s of version %q. Write apiVersion: %s.", kindName, shorten(version), topology.OneOf(k.versions))
	default:
		d.kind, d.lost = kindName, nil
		v := reflect.New(reflect.TypeOf(k.object))
		before := len(d.problems)
		d.into(n, v.Elem(), "the object")
		h := v.Interface().(object).top()
		h.Kind.Value = kindName
		if !h.Meta.Name.Set && !h.Meta.GenerateName.Set {
			if len(d.problems) == before {
				d.errorf(n, "Object without name", "A %s needs a name. Add metadata: { name: … }.", kindName)
			}
			break
		}
		h.Meta.Namespace = unless(h.Meta.Namespace, "")
		h.lost = d.lost
		o.list = append(o.list, v.Interface().(object))
	}
}

// kustomization are files that need not say what they are.
var kustomization = regexp.MustCompile(`(^|/)[Kk]ustomization(\.ya?ml)?$`)

// own reports a version of a group of Kubernetes itself: others have kinds of the same names.
func own(version string) bool {
	group, _, grouped := strings.Cut(version, "/")
	return !grouped || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// other judges an object of a kind that is not carried over.
func (o *Objects) other(d *decoder, n, at *yaml.Node, kindName, version string) {
	if at == nil {
		at = n
	}
	name := nameOf(n)
	if slices.Contains(without, kindName) {
		return
	}
	why, explained := reasons[kindName]
	switch near := topology.Nearest(kindName, known()); {
	case !own(version):
		why = "this version of netlab does not know what " + lineOf(version) + " has"
	case explained:
	case near != "":
		d.errorf(at, "Unknown kind", "There is no kind %q. Did you mean %q?", shorten(kindName), near)
		return
	default:
		why = "this version of netlab does not know the kind"
	}
	o.lost = append(o.lost, Lost{Why: lineOf(kindName+name) + ": " + why, Origin: d.origin(at)})
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
