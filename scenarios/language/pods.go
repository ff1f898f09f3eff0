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
	seen := map[string]bool{}
	for _, b := range l.BlocksOf("pod") {
		l.DeclareDynamic(b)
		if seen[b.Label] {
			continue // reported when it was declared
		}
		seen[b.Label] = true
		l.evalPod(b)
	}
	l.changed()
}

func (l *loader) evalPod(b *blocks.Block) {
	// This reading is for count and for_each; each instance is read again, since
	// its dynamic blocks may depend on its key.
	var outer podBody
	raw, _, diags := b.Body.PartialContent(outer.Schema().Body())
	_ = diags // reported by the readings of the instances
	outer.Schema().Bind(raw.Attributes)
	count, each := outer.count, outer.forEach
	pb := &podBlock{many: count != nil, each: each != nil && count == nil}
	l.pods[b.Label] = pb
	switch {
	case count != nil && each != nil:
		l.Errorf(each.NameRange, "Both count and for_each", "Pod %q has count and for_each. Remove one of them.", b.Label)
		l.Poisoned["pod."+b.Label] = true
	case count != nil:
		n := l.Number(count, b.Scope)
		if v, ok := l.Eval(count.Expr, b.Scope); ok && v.IsNull() {
			l.Errorf(count.Expr.Range(), "Wrong type", "count must be a number, not null. Write count = 1, or remove it.")
		}
		if !n.Set {
			l.Poisoned["pod."+b.Label] = true
			l.checkBody(b, blocks.Scope{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(0)})})
			return
		}
		if n.Value < 0 || n.Value > functions.MaxInstances {
			l.Errorf(count.Expr.Range(), "Count out of range", "The count %d is out of range. Use a number from 0 to %d.", n.Value, functions.MaxInstances)
			l.Poisoned["pod."+b.Label] = true
			l.checkBody(b, blocks.Scope{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(0)})})
			return
		}
		for i := range n.Value {
			index := cty.NumberIntVal(int64(i))
			l.evalInstance(b, strconv.Itoa(i), i, blocks.Scope{"count": cty.ObjectVal(map[string]cty.Value{"index": index})})
		}
	case each != nil:
		list, ok := l.Instances(each, b.Scope)
		if !ok {
			l.Poisoned["pod."+b.Label] = true
			return
		}
		for i, in := range list {
			if in.Key.Type() == cty.Number {
				l.Errorf(each.Expr.Range(), "Wrong type", "for_each must be a map or a set of strings, not a list. Use toset([…]) or count.")
				l.Poisoned["pod."+b.Label] = true
				return
			}
			l.evalInstance(b, in.Name, i, blocks.Scope{"each": cty.ObjectVal(map[string]cty.Value{"key": in.Key, "value": in.Value})})
		}
	default:
		l.evalInstance(b, "", 0, nil)
	}
}

// checkBody reports the mistakes in the shape of a block that cannot be evaluated.
func (l *loader) checkBody(b *blocks.Block, sc blocks.Scope) {
	blocks.Read[podBody](l.Reader, b, join(b.Scope, sc))
}

func join(a, b blocks.Scope) blocks.Scope {
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func (l *loader) evalInstance(b *blocks.Block, key string, index int, inner blocks.Scope) {
	sc := join(b.Scope, inner)
	c := blocks.Read[podBody](l.Reader, b, sc)
	l.pods[b.Label].keys = append(l.pods[b.Label].keys, key)
	l.spec.Pods = append(l.spec.Pods, topology.PodSpec{
		Block: b.Label, Key: key, Index: index, Origin: b.Origin(),
		Node: l.Name(c.node, "node", sc), Namespace: l.Name(c.namespace, "namespace", sc),
		Address: l.Address(c.address, sc), Labels: l.Labels(c.labels, sc),
		HostNetwork: l.Boolean(c.hostNetwork, sc), Ready: l.Boolean(c.ready, sc),
		Terminating: l.Boolean(c.terminating, sc), Ports: l.ports(c, sc), Link: l.link(c, sc),
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
		l.spec.Pods[i].Command = l.Strings(c.command, sc)
		l.spec.Pods[i].Env = l.Labels(c.env, sc)
		if a := c.command; a != nil && len(l.spec.Pods[i].Command) > 0 && l.spec.Pods[i].Command[0] == "" {
			l.Errorf(a.Expr.Range(), "Empty command", "The program of a command is empty. Write command = [\"sleep\", \"inf\"].")
		}
	})
}
