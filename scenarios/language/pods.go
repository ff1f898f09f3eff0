package language

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

func (l *loader) evalPods() {
	for b := range l.Objects("pod") {
		s := topology.PodSpec{Block: b.Label, Key: b.Key, Index: b.Index, Origin: b.Origin()}
		c := l.Read(b, l.podTable(&s))
		s.Ports, s.Link = l.ports(c), l.link(c)
		l.spec.Pods = append(l.spec.Pods, s)
		i := len(l.spec.Pods) - 1
		l.then(func() { l.spec.Pods[i] = s })
	}
}

// command reads the command of a pod. Until its arguments are known, all that matters is
// that there is a command.
func (l *loader) command(s *topology.PodSpec) blocks.Value {
	return blocks.Value{Type: "list of strings", Read: func(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
		s.Command = []string{""}
		l.then(func() {
			if s.Command = l.Strings(a, sc); len(s.Command) > 0 && s.Command[0] == "" {
				l.Errorf(a.Expr.Range(), "Empty command", "The program of a command is empty. Write command = [\"sleep\", \"inf\"].")
			}
		})
	}}
}
