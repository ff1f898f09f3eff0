package language

import (
	"maps"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/topology"
)

func (l *loader) evalPods() {
	seen := map[string]bool{}
	for _, b := range l.blocksOf("pod") {
		l.declareDynamic(b)
		if seen[b.label] {
			continue // reported when it was declared
		}
		seen[b.label] = true
		l.evalPod(b)
	}
	l.changed()
}

func (l *loader) evalPod(b *block) {
	// This reading is for count and for_each; each instance is read again, since
	// its dynamic blocks may depend on its key.
	var outer podBody
	raw, _, diags := b.body.PartialContent(outer.schema().body())
	_ = diags // reported by the readings of the instances
	outer.schema().bind(raw.Attributes)
	count, each := outer.count, outer.forEach
	pb := &podBlock{many: count != nil, each: each != nil && count == nil}
	l.pods[b.label] = pb
	switch {
	case count != nil && each != nil:
		l.errorf(each.NameRange, "Both count and for_each", "Pod %q has count and for_each. Remove one of them.", b.label)
		l.poisoned["pod."+b.label] = true
	case count != nil:
		n := l.number(count, b.scope)
		if v, ok := l.eval(count.Expr, b.scope); ok && v.IsNull() {
			l.errorf(count.Expr.Range(), "Wrong type", "count must be a number, not null. Write count = 1, or remove it.")
		}
		if !n.Set {
			l.poisoned["pod."+b.label] = true
			l.checkBody(b, scope{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(0)})})
			return
		}
		if n.Value < 0 || n.Value > maxInstances {
			l.errorf(count.Expr.Range(), "Count out of range", "The count %d is out of range. Use a number from 0 to %d.", n.Value, maxInstances)
			l.poisoned["pod."+b.label] = true
			l.checkBody(b, scope{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(0)})})
			return
		}
		for i := range n.Value {
			index := cty.NumberIntVal(int64(i))
			l.evalInstance(b, strconv.Itoa(i), i, scope{"count": cty.ObjectVal(map[string]cty.Value{"index": index})})
		}
	case each != nil:
		list, ok := l.instances(each, b.scope)
		if !ok {
			l.poisoned["pod."+b.label] = true
			return
		}
		for i, in := range list {
			if in.key.Type() == cty.Number {
				l.errorf(each.Expr.Range(), "Wrong type", "for_each must be a map or a set of strings, not a list. Use toset([…]) or count.")
				l.poisoned["pod."+b.label] = true
				return
			}
			l.evalInstance(b, in.name, i, scope{"each": cty.ObjectVal(map[string]cty.Value{"key": in.key, "value": in.value})})
		}
	default:
		l.evalInstance(b, "", 0, nil)
	}
}

// checkBody reports the mistakes in the shape of a block that cannot be evaluated.
func (l *loader) checkBody(b *block, sc scope) { read[podBody](l.reader, b, join(b.scope, sc)) }

func join(a, b scope) scope {
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func (l *loader) evalInstance(b *block, key string, index int, inner scope) {
	sc := join(b.scope, inner)
	c := read[podBody](l.reader, b, sc)
	l.pods[b.label].keys = append(l.pods[b.label].keys, key)
	l.spec.Pods = append(l.spec.Pods, topology.PodSpec{
		Block: b.label, Key: key, Index: index, Origin: b.origin(),
		Node: l.name(c.node, "node", sc), Namespace: l.name(c.namespace, "namespace", sc),
		Address: l.address(c.address, sc), Labels: l.labels(c.labels, sc),
		HostNetwork: l.boolean(c.hostNetwork, sc), Ready: l.boolean(c.ready, sc),
		Terminating: l.boolean(c.terminating, sc), Ports: l.ports(c, sc), Link: l.link(c, sc),
	})
	i := len(l.spec.Pods) - 1
	if c.command == nil && c.env == nil {
		return
	}
	if c.command != nil {
		// Until its arguments are known, all that matters is that there is a command.
		l.spec.Pods[i].Command = []string{""}
	}
	l.late = append(l.late, func() {
		l.spec.Pods[i].Command = l.strings(c.command, sc)
		l.spec.Pods[i].Env = l.labels(c.env, sc)
		if a := c.command; a != nil && len(l.spec.Pods[i].Command) > 0 && l.spec.Pods[i].Command[0] == "" {
			l.errorf(a.Expr.Range(), "Empty command", "The program of a command is empty. Write command = [\"sleep\", \"inf\"].")
		}
	})
}
