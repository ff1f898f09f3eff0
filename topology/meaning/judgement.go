package meaning

import (
	"fmt"
	"strings"

	"github.com/netlab/netlab/topology"
)

// Text says in one line what one side says and why: allowed by policy db/web, ingress
// rule 1 (lab.hcl:12).
func (s SideJudgement) Text(direction string) string {
	word := "denied"
	if s.Allowed {
		word = "allowed"
	}
	text := ""
	switch s.Reason {
	case NoSide:
		text = word + ": no policy applies to this end"
	case SamePod:
		text = word + ": a pod always reaches itself"
	case FromNode:
		text = word + ": a node always reaches its own pods"
	case ToNode:
		text = word + ": a pod reaches its own node, since host_egress is \"allow\""
	case ByDefault:
		text = word + ": no policy isolates the pod"
	case Isolated:
		var names []string
		for _, p := range s.Isolating {
			names = append(names, p.Namespace+"/"+p.Name+inBrackets(p.Origin))
		}
		text = fmt.Sprintf("%s: isolated by policy %s, and no %s rule matches", word, strings.Join(names, ", "), direction)
	default:
		kind := "policy"
		if s.Reason != ByPolicy {
			kind = "cluster policy"
		}
		rule := fmt.Sprintf("%s rule %d", direction, s.Rule+1)
		if s.Name != "" {
			rule += fmt.Sprintf(" %q", s.Name)
		}
		text = fmt.Sprintf("%s by %s %s, %s%s", word, kind, s.Policy, rule, inBrackets(s.Origin))
	}
	if s.Passed != nil {
		text += ", after a rule of the Admin tier passed it on" + inBrackets(s.Passed.Origin)
	}
	return text
}

// inBrackets is a place in brackets, to end a text: (lab.hcl:12).
func inBrackets(o topology.Origin) string {
	if o.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", o.File, o.Line)
}
