package language

import (
	"maps"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/topology"
)

func (l *loader) evalPods() {
	for b := range l.Distinct("pod") {
		if !l.evalPod(b) {
			l.Poisoned["pod."+b.Label] = true
		}
	}
}

// evalPod makes the instances of a pod block; false where it is unknown which there are.
func (l *loader) evalPod(b *blocks.Block) bool {
	// Each instance is read on its own, since its dynamic blocks may depend on its key.
	count, each := b.Peek("count"), b.Peek("for_each")
	pb := &podBlock{many: count != nil, each: each != nil && count == nil}
	l.pods[b.Label] = pb
	index := func(i int) blocks.Scope {
		return blocks.Scope{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(int64(i))})}
	}
	switch {
	case count != nil && each != nil:
		l.Errorf(each.NameRange, "Both count and for_each", "Pod %q has count and for_each. Remove one of them.", b.Label)
		return false
	case count != nil:
		n := l.Number(count, b.Scope)
		if v, ok := l.Eval(count.Expr, b.Scope); ok && v.IsNull() {
			l.Errorf(count.Expr.Range(), "Wrong type", "count must be a number, not null. Write count = 1, or remove it.")
		}
		if n.Set && (n.Value < 0 || n.Value > functions.MaxInstances) {
			l.Errorf(count.Expr.Range(), "Count out of range", "The count %d is out of range. Use a number from 0 to %d.", n.Value, functions.MaxInstances)
			n.Set = false
		}
		if !n.Set { // what is wrong with the block itself is still reported
			l.Check(within(b, index(0)), l.podTable(new(topology.PodSpec)))
			return false
		}
		for i := range n.Value {
			l.evalInstance(within(b, index(i)), strconv.Itoa(i), i)
		}
	case each != nil:
		list, ok := l.Instances(each, b.Scope)
		if !ok {
			return false
		}
		for i, in := range list {
			if in.Key.Type() == cty.Number {
				l.Errorf(each.Expr.Range(), "Wrong type", "for_each must be a map or a set of strings, not a list. Use toset([…]) or count.")
				return false
			}
			l.evalInstance(within(b, blocks.Scope{"each": cty.ObjectVal(map[string]cty.Value{"key": in.Key, "value": in.Value})}), in.Name, i)
		}
	default:
		l.evalInstance(b, "", 0)
	}
	return true
}

// within is a block in which more names exist.
func within(b *blocks.Block, more blocks.Scope) *blocks.Block {
	out := *b
	out.Scope = join(b.Scope, more)
	return &out
}

func join(a, b blocks.Scope) blocks.Scope {
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func (l *loader) evalInstance(b *blocks.Block, key string, index int) {
	s := topology.PodSpec{Block: b.Label, Key: key, Index: index, Origin: b.Origin()}
	c := l.Read(b, l.podTable(&s))
	s.Ports, s.Link = l.ports(c), l.link(c)
	l.program(c, &s.Program)
	l.pods[b.Label].keys = append(l.pods[b.Label].keys, key)
	l.spec.Pods = append(l.spec.Pods, s)
	i := len(l.spec.Pods) - 1
	l.late = append(l.late, func() { l.spec.Pods[i] = s })
}
