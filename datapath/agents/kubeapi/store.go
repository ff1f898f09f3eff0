package kubeapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// entry is one version of an object. It does not change.
type entry struct {
	namespace, name string
	labels          map[string]string
	object          map[string]any
	encoded         []byte
	version         int64
	born            time.Time
	resource        *resource
}

func (e *entry) key() string { return e.namespace + "/" + e.name }

// event is a change of an object: old is nil for a new one, now for one that is gone.
type event struct {
	version  int64
	old, now *entry
}

// remembered is how many changes are kept for watches that begin, or lag, behind them.
const remembered = 4096

// store holds the objects, and the changes that led to them.
type store struct {
	born  string // what stands for the time at which an object was made
	now   func() time.Time
	begun time.Time

	mu      sync.RWMutex
	pending []byte // lines that nobody has asked for yet
	asked   bool
	lines   map[string]*entry               // by the line of which they were made
	objects map[*resource]map[string]*entry // by key
	version int64                           // of the last change
	first   int64                           // changes after this one are in history
	history []event
	keep    int           // remembered
	changed chan struct{} // closed by the next change
}

func newStore(born string, now func() time.Time) *store {
	// Versions grow when a lab is made again under the same name, so that clients notice.
	v := now().UnixMilli()
	return &store{born: born, now: now, begun: now(), version: v, first: v, keep: remembered, lines: map[string]*entry{}, objects: map[*resource]map[string]*entry{}, changed: make(chan struct{})}
}

// set replaces all objects. Until somebody has asked for one, that is all it does.
func (s *store) set(lines []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		s.pending = lines
		return nil
	}
	return s.apply(lines)
}

// read calls fn with the objects decoded, shared with other readers.
func (s *store) read(fn func() error) error {
	s.mu.RLock()
	if !s.asked {
		s.mu.RUnlock()
		s.mu.Lock()
		if !s.asked {
			if err := s.apply(s.pending); err != nil {
				s.mu.Unlock()
				return err
			}
			s.pending, s.asked = nil, true
		}
		s.mu.Unlock()
		s.mu.RLock()
	}
	defer s.mu.RUnlock()
	return fn()
}

// apply makes the objects equal to those of the lines. Lines that were there before are the
// same objects, so that a small change costs little. On an error nothing has changed.
func (s *store) apply(lines []byte) error {
	next := make(map[string]*entry, len(s.lines))
	var changes []event
	replaced := map[*entry]bool{}
	for l := range bytes.Lines(lines) {
		if e := s.lines[string(l)]; e != nil {
			next[string(l)] = e
			continue
		}
		line := string(l)
		e, err := decode(line)
		if err != nil {
			return err
		}
		old := s.objects[e.resource][e.key()]
		if next[line] = e; old != nil {
			replaced[old] = true
		}
		changes = append(changes, event{old: old, now: e})
	}
	var gone []event
	for line, e := range s.lines {
		if next[line] == nil && !replaced[e] {
			gone = append(gone, event{old: e})
		}
	}
	slices.SortFunc(gone, func(a, b event) int { // an order that does not depend on the map
		return cmp.Or(strings.Compare(a.old.resource.name, b.old.resource.name), strings.Compare(a.old.key(), b.old.key()))
	})
	for _, c := range append(gone, changes...) {
		s.change(c)
	}
	s.lines = next
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// change makes one change and notes it. Objects that were there when somebody asked first are
// no changes.
func (s *store) change(c event) {
	r := cmp.Or(c.now, c.old).resource
	if s.asked {
		s.version++
	}
	c.version = s.version
	if s.objects[r] == nil {
		s.objects[r] = map[string]*entry{}
	}
	if c.now != nil {
		s.objects[r][c.now.key()] = c.now
		s.stamp(c.now, c.old, c.version)
	} else {
		delete(s.objects[r], c.old.key())
		c.old = c.old.again(c.version)
	}
	if !s.asked {
		return
	}
	s.history = append(s.history, c)
	if over := len(s.history) - s.keep; over > s.keep/4 { // not at every change
		s.first = s.history[over-1].version
		s.history = slices.Clone(s.history[over:])
	}
}

// since are the changes after a version; false: they are forgotten. With them come the version
// that they lead to and what the next change closes.
func (s *store) since(version int64) (list []event, to int64, changed <-chan struct{}, ok bool) {
	if version < s.first {
		return nil, s.version, s.changed, false
	}
	from, _ := slices.BinarySearchFunc(s.history, version+1, func(e event, v int64) int { return cmp.Compare(e.version, v) })
	return s.history[from:], s.version, s.changed, true
}

// decode is the object of a line.
func decode(line string) (*entry, error) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	e := &entry{labels: map[string]string{}}
	if err := d.Decode(&e.object); err != nil {
		return nil, fmt.Errorf("an object to serve: %w", err)
	}
	kind, version := text(e.object, "kind"), text(e.object, "apiVersion")
	i := slices.IndexFunc(resources, func(r *resource) bool { return r.kind == kind && r.groupVersion() == version })
	if i < 0 {
		return nil, fmt.Errorf("an object to serve: no kind %q of %q", kind, version)
	}
	e.resource, e.namespace, e.name = resources[i], text(e.object, "metadata", "namespace"), text(e.object, "metadata", "name")
	labels, _ := at(e.object, "metadata", "labels").(map[string]any)
	for k, v := range labels {
		e.labels[k], _ = v.(string)
	}
	return e, nil
}

// stamp gives a new object its version, and the age of the one that it replaces.
func (s *store) stamp(e, old *entry, version int64) {
	switch e.version = version; {
	case old != nil:
		e.born = old.born
	case s.asked:
		e.born = s.now()
	default:
		e.born = s.begun
	}
	born := e.born.UTC().Format(time.RFC3339)
	e.object, _ = dated(e.object, s.born, born).(map[string]any)
	e.object = withMeta(e.object, "resourceVersion", strconv.FormatInt(version, 10))
	e.object = withMeta(e.object, "creationTimestamp", born)
	e.encode()
}

// dated replaces a text everywhere in a value.
func dated(v any, from, to string) any {
	switch v := v.(type) {
	case string:
		if v == from {
			return to
		}
	case []any:
		for i := range v {
			v[i] = dated(v[i], from, to)
		}
	case map[string]any:
		for k := range v {
			v[k] = dated(v[k], from, to)
		}
	}
	return v
}

func (e *entry) encode() { e.encoded = encode(e.object) }

// again is the same object at another version.
func (e *entry) again(version int64) *entry {
	last := *e
	last.version = version
	last.object = withMeta(e.object, "resourceVersion", strconv.FormatInt(version, 10))
	last.encode()
	return &last
}

// encode is a value as JSON.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what came from JSON can be encoded
	}
	return b
}

// withMeta is an object with another field in its metadata; the original stays as it is.
func withMeta(object map[string]any, key, value string) map[string]any {
	out, meta := make(map[string]any, len(object)), map[string]any{key: value}
	for k, v := range object {
		out[k] = v
	}
	before, _ := object["metadata"].(map[string]any)
	for k, v := range before {
		if k != key {
			meta[k] = v
		}
	}
	out["metadata"] = meta
	return out
}

// list are the objects of a kind, by namespace and name.
func (s *store) list(r *resource) []*entry {
	all := make([]*entry, 0, len(s.objects[r]))
	for _, e := range s.objects[r] {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	return all
}

// at is the value at a path in an object, or nil.
func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// text is the string, number or bool at a path, as text.
func text(v any, path ...string) string {
	switch v := at(v, path...).(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// each are the elements of the list at a path.
func each(v any, path ...string) []any {
	list, _ := at(v, path...).([]any)
	return list
}
