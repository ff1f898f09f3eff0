package topology

import (
	"fmt"
	"strings"
)

// String says in two lines what each side says, and why.
func (j Judgement) String() string {
	return "egress:  " + j.Egress.Text("egress") + "\ningress: " + j.Ingress.Text("ingress")
}

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
		text = word + ": no policy is about this end"
	case SamePod:
		text = word + ": a pod always reaches itself"
	case FromNode:
		text = word + ": a node always reaches its own pods"
	case ToNode:
		text = word + ": a pod reaches its own node, for host_egress is \"allow\""
	case ByDefault:
		text = word + ": no policy isolates the pod"
	case Isolated:
		var names []string
		for _, p := range s.Isolating {
			names = append(names, p.Namespace+"/"+p.Name+p.Origin.inBrackets())
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
		text = fmt.Sprintf("%s by %s %s, %s%s", word, kind, s.Policy, rule, s.Origin.inBrackets())
	}
	if s.Passed != nil {
		text += ", after a rule of the Admin tier passed it on" + s.Passed.Origin.inBrackets()
	}
	return text
}

// inBrackets is a place as a text ends with it: (lab.hcl:12).
func (o Origin) inBrackets() string {
	if o.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", o.File, o.Line)
}
