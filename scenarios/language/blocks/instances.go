package blocks

import (
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/topology"
)

// Instances are the objects that one block makes: one, or with count or for_each any number.
type Instances struct {
	attr string // count, for_each or ""
	keys []string
}

// Value is what a reference to the block is: one object; with count a list of them, with
// for_each an object of them by key.
func (in *Instances) Value(of func(key string) cty.Value) cty.Value {
	all, byKey := []cty.Value{}, map[string]cty.Value{}
	for _, k := range in.keys {
		all = append(all, of(k))
		byKey[k] = of(k)
	}
	switch in.attr {
	case "count":
		return cty.TupleVal(all)
	case "for_each":
		return cty.ObjectVal(byKey)
	}
	return all[0]
}

// Adopt declares what was made without a block, so that expressions refer to it as if there were
// one: one object, or those with the keys that count or for_each would give them.
func (l *Reader) Adopt(kind, label string, keys []string, r hcl.Range) {
	l.Declare(kind, label, r)
	made := &Instances{attr: "count", keys: keys}
	for i, key := range keys {
		if key != strconv.Itoa(i) {
			made.attr = "for_each"
		}
	}
	if keys == nil {
		made.attr, made.keys = "", []string{""}
	}
	if l.Made[kind][label] == nil {
		l.Made[kind][label] = made
	}
}

// Objects are the blocks of a kind, each with count or for_each once per instance, with
// its count.index, or each.key and each.value.
func (l *Reader) Objects(kind string) iter.Seq[*Block] {
	table := topology.First(l.top.Blocks, func(n Nested) bool { return n.Name == kind }).Table()
	blocks := l.BlocksOf
	if slices.Contains(ObjectKinds, kind) {
		blocks = l.Distinct
	}
	l.Made[kind] = map[string]*Instances{}
	return func(yield func(*Block) bool) {
		for b := range blocks(kind) {
			list, attr, ok := l.instances(b, table)
			if !ok {
				l.Poisoned[kind+"."+b.Label] = true
				continue
			}
			made := &Instances{attr: attr}
			for _, in := range list {
				made.keys = append(made.keys, in.Key)
				if attr != "" {
					l.Instance = topology.Address(kind, b.Label, in.Key)
					l.Siblings[l.Instance] = len(list)
				}
			}
			l.Made[kind][b.Label] = made
			for _, in := range list {
				if attr != "" {
					l.Instance = topology.Address(kind, b.Label, in.Key)
				}
				more := yield(in)
				l.Instance = ""
				if !more {
					return
				}
			}
		}
	}
}

// InstancesOf are a nested block, with for_each once per instance. The table is that of the
// block.
func (l *Reader) InstancesOf(b *Block, table Schema) []*Block {
	list, _, _ := l.instances(b, table)
	return list
}

// instances are a block once per instance, and the attribute that makes them; false where it
// is unknown which there are. What is wrong with the block itself is then reported all the same.
func (l *Reader) instances(b *Block, table Schema) (out []*Block, attr string, ok bool) {
	var count, each *hcl.Attribute
	countable := false
	for _, a := range table.Attrs {
		v, _ := a.At.(Value)
		switch {
		case v.repeats && a.Name == "count":
			count, countable = b.Peek(a.Name), true
		case v.repeats:
			each = b.Peek(a.Name)
		}
	}
	switch {
	case count != nil && each != nil:
		l.Errorf(each.NameRange, "Both count and for_each", "The %s %q has count and for_each. Remove one of them.", b.Kind, b.Label)
		return nil, "", false
	case count != nil:
		n, ok := l.countOf(count, b.Scope)
		if !ok {
			l.check(b.within("", 0, countScope(0)), table)
			return nil, "", false
		}
		for i := range n {
			out = append(out, b.within(strconv.Itoa(i), i, countScope(i)))
		}
		return out, "count", true
	case each != nil:
		list, ok := l.elements(each, b.Scope)
		if !ok {
			return nil, "", false
		}
		for i, e := range list {
			if e.set && e.key.Type() != cty.String {
				l.Errorf(each.Expr.Range(), "Wrong type", "The elements of this set must be strings. Use toset([\"a\", \"b\"]).")
				return nil, "", false
			}
			if e.key.Type() == cty.Number {
				use := "toset([…])"
				if IsKind(e.value, ObjectKinds...) {
					use = "{ for x in LIST : x.name => x }"
				}
				if countable {
					use += " or count"
				}
				l.Errorf(each.Expr.Range(), "Wrong type", "for_each must be a map or a set of strings, not a list. Use %s.", use)
				return nil, "", false
			}
			out = append(out, b.within(e.name, i, Scope{"each": cty.ObjectVal(map[string]cty.Value{"key": e.key, "value": e.value})}))
		}
		return out, "for_each", true
	}
	return []*Block{b}, "", true
}

func countScope(i int) Scope {
	return Scope{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(int64(i))})}
}

func (l *Reader) countOf(count *hcl.Attribute, sc Scope) (int, bool) {
	n := l.Number(count, sc)
	if v, ok := l.Eval(count.Expr, sc); ok && v.IsNull() {
		l.Errorf(count.Expr.Range(), "Wrong type", "count must be a number, not null. Write count = 1, or remove it.")
	}
	if n.Set && (n.Value < 0 || n.Value > functions.MaxInstances) {
		l.Errorf(count.Expr.Range(), "Count out of range", "The count %d is out of range. Use a number from 0 to %d.", n.Value, functions.MaxInstances)
		return 0, false
	}
	return n.Value, n.Set
}

// within is an instance of a block, in which more names exist.
func (b *Block) within(key string, index int, more Scope) *Block {
	out := *b
	out.Key, out.Index, out.Scope = key, index, b.Scope.With(more)
	return &out
}

// With is a scope with more names. Those that both have are merged.
func (sc Scope) With(more Scope) Scope {
	if len(sc) == 0 {
		return more
	}
	out := maps.Clone(sc)
	for name, v := range more {
		if old, ok := sc[name]; ok && IsMap(old) && IsMap(v) {
			fields := old.AsValueMap()
			maps.Copy(fields, v.AsValueMap())
			v = cty.ObjectVal(fields)
		}
		out[name] = v
	}
	return out
}

// check reports what is out of place in a block that cannot be evaluated.
func (l *Reader) check(b *Block, s Schema) {
	s.Attrs = slices.Clone(s.Attrs)
	for i := range s.Attrs {
		if s.Attrs[i].At != nil {
			s.Attrs[i].At = Raw("")
		}
	}
	l.Read(b, s)
}

// element is one element of a for_each.
type element struct {
	name       string
	key, value cty.Value
	set        bool // it is one of a set
}

// elements evaluates a for_each: a map, an object or a set of strings. Its order is
// that of the keys; for a list it is the list's.
func (l *Reader) elements(a *hcl.Attribute, sc Scope) ([]element, bool) {
	v, ok := l.Eval(a.Expr, sc)
	if !ok {
		return nil, false
	}
	if IsKind(v, ObjectKinds...) {
		kind := TextOf(v, "kind")
		l.Errorf(a.Expr.Range(), "Wrong type", "for_each must be a map or a set of strings, not one %s. Use { (%s.NAME.name) = %s.NAME }, or %s for all of them.", kind, kind, kind, kind)
		return nil, false
	}
	if v.IsNull() || !v.CanIterateElements() {
		l.Errorf(a.Expr.Range(), "Wrong type", "for_each must be a map or a set of strings, not %s. Use toset([…]) or { key = value }.", Describe(v))
		return nil, false
	}
	if n := v.LengthInt(); n > functions.MaxInstances {
		l.Errorf(a.Expr.Range(), "Too many instances", "This makes %d instances. The limit is %d.", n, functions.MaxInstances)
		return nil, false
	}
	var out []element
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if v.Type().IsSetType() {
			key = value
		}
		name, err := convert.Convert(key, cty.String)
		if err != nil || name.IsNull() {
			l.Errorf(a.Expr.Range(), "Wrong type", "The elements of this set must be strings. Use toset([\"a\", \"b\"]).")
			return nil, false
		}
		out = append(out, element{name.AsString(), key, value, v.Type().IsSetType()})
	}
	return out, true
}
