package blocks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/topology"
)

// ObjectKinds are the blocks with a label that expressions can refer to, in the order of
// their stages.
var ObjectKinds = []string{"subnet", "router", "node", "client", "namespace", "pod", "service"}

// SettingKinds are the blocks without a label that expressions can refer to: their stage is that of
// the network.
var SettingKinds = []string{"network", "proxy", "policies"}

// HostKinds are those with an address of their own, which can be an end of a connection.
var HostKinds = []string{"node", "client", "router", "pod"}

// stageOf is the stage that declares a kind of object; that of the network for settings.
func stageOf(kind string) Stage { return StageSubnets + Stage(slices.Index(ObjectKinds, kind)) }

func (s Stage) String() string {
	return [...]string{"variables", "the network", "subnets", "routers", "nodes", "clients", "namespaces", "pods", "services", "routes and commands", "expectations"}[s]
}

// checkRefs reports references that do not resolve. False means that the expression has
// no value, perhaps because what it refers to was reported already.
func (l *Reader) checkRefs(refs []hcl.Traversal, sc Scope) bool {
	ok := true
	total := 0
	for _, t := range refs {
		if _, scoped := sc[t.RootName()]; scoped {
			continue
		}
		ok = l.checkRef(t) && ok
		if name, _, named := step(t); named && t.RootName() == "local" && l.locals[name] != nil {
			total += l.locals[name].size
		}
	}
	if ok && total > 4*functions.MaxValue {
		l.Errorf(refs[0].SourceRange(), "Value too large", "The local values in this expression are larger than %d bytes together. Use smaller ones.", 4*functions.MaxValue)
		return false
	}
	return ok
}

func (l *Reader) checkRef(t hcl.Traversal) bool {
	root := t.RootName()
	rootRange := t[0].SourceRange()
	name, nameRange, named := step(t)
	switch {
	case root == "var":
		return !named || l.known("variable", name, nameRange, "Declare it with variable %q {}.")
	case root == "local":
		if !named {
			return l.EvalLocals()
		}
		return l.evalLocal(name, nameRange)
	case slices.Contains(SettingKinds, root):
		return l.inTime(root, root, rootRange)
	case slices.Contains(ObjectKinds, root):
		if named && !l.known(root, name, nameRange, "Declare it with "+root+" %q {}.") {
			return false
		}
		return l.inTime(root, pathText(t[:min(2, len(t))]), t.SourceRange())
	case root == "each" || root == "count":
		fix := "It exists in a block with for_each, and in source of an expect block."
		if root == "count" {
			fix = "It exists in a block whose count makes instances; an expect block has for_each for that."
		}
		l.Errorf(rootRange, "Unknown reference", "%s is not available here. %s", root, fix)
	case slices.ContainsFunc(l.top.PlannedBlocks, func(n Nested) bool { return n.Name == root }):
		l.notYet(rootRange, "block", root)
	default:
		known := append(append(slices.Clone(ObjectKinds), "var", "local"), SettingKinds...)
		if !named {
			l.Errorf(rootRange, "Unknown reference", "There is no %q.%s", root, cmp.Or(topology.DidYouMean(root, known), fmt.Sprintf(" Put text into quotes: %q.", root)))
			return false
		}
		l.Errorf(rootRange, "Unknown reference", "There is no %q.%s", root, OrKnown(root, known))
	}
	return false
}

// known reports a name that no block declares.
func (l *Reader) known(kind, name string, r hcl.Range, declare string) bool {
	_, ok := l.Declared[kind][name]
	switch {
	case !ok && l.Incomplete && kind != "variable":
		l.Silent = true
		return false
	case !ok:
		names := slices.Collect(maps.Keys(l.Declared[kind]))
		for label, made := range l.Made[kind] {
			for _, key := range made.keys {
				if topology.NameOf(label, key) == name {
					l.Errorf(r, "Unknown "+kind, "There is no %s %q, but an instance with that name. Write %s.", kind, name, topology.Address(kind, label, key))
					return false
				}
			}
		}
		l.Errorf(r, "Unknown "+kind, "There is no %s %q.%s "+declare, kind, name, topology.DidYouMean(name, names), name)
		return false
	}
	return !l.Poisoned[kind+"."+name]
}

// inTime reports a reference to something that is evaluated later.
func (l *Reader) inTime(kind, path string, r hcl.Range) bool {
	if decided := stageOf(kind); l.stage <= decided {
		l.Errorf(r, "Reference to something later",
			"%s is known only after %s are evaluated, but this belongs to %s. Use a variable or local value that both can refer to.",
			path, decided, l.stage)
		return false
	}
	return true
}

// step is the name that follows the root: node1 for node.node1 and node["node1"].
func step(t hcl.Traversal) (name string, r hcl.Range, ok bool) {
	if len(t) < 2 {
		return "", hcl.Range{}, false
	}
	name, r = stepName(t[1])
	_, splat := t[1].(hcl.TraverseSplat)
	return name, r, !splat
}

func stepName(t hcl.Traverser) (string, hcl.Range) {
	switch s := t.(type) {
	case hcl.TraverseAttr:
		r := s.SrcRange
		if r.End.Byte-r.Start.Byte == len(s.Name)+1 { // the dot is not part of the name
			r.Start.Byte++
			r.Start.Column++
		}
		return s.Name, r
	case hcl.TraverseIndex:
		if k, err := convert.Convert(s.Key, cty.String); err == nil && !k.IsNull() && k.IsKnown() {
			return k.AsString(), s.SrcRange
		}
		return "", s.SrcRange
	}
	return "", t.SourceRange()
}

// pathText is a reference as it is written.
func pathText(t hcl.Traversal) string {
	var b strings.Builder
	for i, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			b.WriteString(s.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + s.Name)
		case hcl.TraverseIndex:
			name, _ := stepName(t[i])
			fmt.Fprintf(&b, "[%q]", name)
		}
	}
	return b.String()
}

// Stage is a step of evaluation. What a stage declares can be referred to in every
// later one.
type Stage int

const (
	StageVariables Stage = iota
	StageNetwork
	StageSubnets
	StageRouters
	StageNodes
	StageClients
	StageNamespaces
	StagePods
	StageServices
	StageLate // what does not affect addresses: commands, routes, policies
	StageExpects
)
