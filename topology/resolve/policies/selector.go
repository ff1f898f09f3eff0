package policies

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// selector is a label selector whose conditions were checked: all have to hold. The
// zero selector selects everything.
type selector struct {
	labels      map[string]string
	expressions []expression
}

// expression is a condition about one label.
type expression struct {
	key, operator string
	values        []string
}

// The operators of expressions.
const (
	opIn           = "In"
	opNotIn        = "NotIn"
	opExists       = "Exists"
	opDoesNotExist = "DoesNotExist"
)

// matches reports whether labels meet all conditions.
func (s selector) matches(labels map[string]string) bool {
	return draft.Matches(s.labels, labels) && !slices.ContainsFunc(s.expressions, func(e expression) bool { return !e.matches(labels) })
}

// matches does as k8s.io/apimachinery/pkg/labels: NotIn holds for what does not
// have the label at all.
func (e expression) matches(labels map[string]string) bool {
	value, has := labels[e.key]
	switch e.operator {
	case opIn:
		return has && slices.Contains(e.values, value)
	case opNotIn:
		return !has || !slices.Contains(e.values, value)
	case opExists:
		return has
	default:
		return !has
	}
}

// selector checks a selector as the API server does (ValidateLabelSelector of
// apimachinery). It reports false where it cannot be used.
func (r *resolver) selector(s topology.SelectorSpec) (selector, bool) {
	out, before := selector{labels: s.MatchLabels}, len(r.Problems)
	for _, k := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		r.labelKey(k, s.Origin)
		r.labelValue(k, s.MatchLabels[k], s.Origin)
	}
	operators := []string{opIn, opNotIn, opExists, opDoesNotExist}
	for _, e := range s.Expressions {
		x := expression{e.Key.Value, e.Operator.Value, e.Values.Value}
		known := slices.Contains(operators, x.operator)
		switch {
		case e.Key.Set:
			r.labelKey(x.key, e.Key.Origin)
		case e.Key.Origin == (topology.Origin{}):
			r.Errorf(draft.At(e.Origin, s.Origin), "Expression without key", "An expression needs a label. Add key = \"app\".")
		}
		switch {
		case !e.Operator.Set && e.Operator.Origin == (topology.Origin{}):
			r.Errorf(draft.At(e.Origin, s.Origin), "Expression without operator", "An expression needs an operator. Add operator = \"In\", \"NotIn\", \"Exists\" or \"DoesNotExist\".")
		case e.Operator.Set && !known:
			r.Errorf(draft.At(e.Operator.Origin, e.Origin), "Unknown operator",
				"%q is not a valid selector operator.%s Use %s.", draft.Shorten(x.operator), topology.DidYouMean(x.operator, operators), topology.OneOf(operators))
		case (x.operator == opIn || x.operator == opNotIn) && len(x.values) == 0 && (e.Values.Set || e.Values.Origin == (topology.Origin{})):
			r.Errorf(draft.At(e.Values.Origin, e.Operator.Origin, e.Origin), "Operator without values",
				"values must be specified when operator is \"In\" or \"NotIn\". Add values = [\"…\"].")
		case (x.operator == opExists || x.operator == opDoesNotExist) && len(x.values) > 0:
			r.Errorf(draft.At(e.Values.Origin, e.Origin), "Operator takes no values",
				"values may not be specified when operator is \"Exists\" or \"DoesNotExist\". Remove values, or use \"In\".")
		}
		for _, v := range x.values {
			r.labelValue(x.key, v, e.Values.Origin)
		}
		if !e.Key.Set || !e.Operator.Set || e.Values.Origin != (topology.Origin{}) && !e.Values.Set {
			return out, false
		}
		out.expressions = append(out.expressions, x)
	}
	return out, len(r.Problems) == before
}

// labelKey reports a key that no label can have: a name, perhaps behind the prefix
// of a DNS subdomain and a slash.
func (r *resolver) labelKey(key string, origin topology.Origin) {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "", key
	}
	if prefixed && (!draft.IsDNSSubdomain(prefix) || strings.HasSuffix(prefix, ".")) || !labelText.MatchString(name) {
		r.Errorf(draft.At(origin), "Invalid label key",
			"The key %q is not a qualified name: up to 63 letters, digits, \"-\", \"_\" and \".\", beginning and ending with a letter or digit, after an optional DNS subdomain and \"/\". Correct it.",
			draft.Shorten(key))
	}
}

// labelValue reports a value that no label can have.
func (r *resolver) labelValue(key, value string, origin topology.Origin) {
	if value != "" && !labelText.MatchString(value) {
		r.Errorf(draft.At(origin), "Invalid label value",
			"The value %q of %q is not a label value: up to 63 letters, digits, \"-\", \"_\" and \".\", beginning and ending with a letter or digit. Correct it.",
			draft.Shorten(value), draft.Shorten(key))
	}
}

// labelText is what the name of a label, and a value that is not empty, look like.
var labelText = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
