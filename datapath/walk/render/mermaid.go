package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/walk/trace"
)

// Mermaid is the prediction as a sequence diagram: namespaces as participants, hops as
// messages, and as notes whatever changes or ends the packet. Branches are
// alternatives.
func Mermaid(p trace.Prediction) string {
	m := &mermaid{}
	for i := range p.Branches {
		for j := range p.Branches[i].Steps {
			m.participant(p.Branches[i].Steps[j].Netns)
		}
	}
	m.b.WriteString("sequenceDiagram\n")
	for i, name := range m.names {
		m.line("participant n%d as %s", i, name)
	}
	for i := range p.Branches {
		b := &p.Branches[i]
		if len(p.Branches) > 1 {
			word := "else"
			if i == 0 {
				word = "alt"
			}
			m.line("%s %s: %s", word, percent(b.Probability), plain(b.Result.String()))
		}
		m.branch(b)
	}
	if len(p.Branches) > 1 {
		m.line("end")
	}
	return m.b.String()
}

type mermaid struct {
	b     strings.Builder
	names []string
}

func (m *mermaid) participant(name string) int {
	i := slices.Index(m.names, name)
	if i < 0 {
		m.names = append(m.names, name)
		i = len(m.names) - 1
	}
	return i
}

func (m *mermaid) line(format string, args ...any) {
	fmt.Fprintf(&m.b, "    "+format+"\n", args...)
}

func (m *mermaid) branch(b *trace.Branch) {
	at := -1
	for i := range b.Steps {
		s := &b.Steps[i]
		here := m.participant(s.Netns)
		switch {
		case at >= 0 && here != at:
			m.line("n%d%sn%d: %s", at, arrows(s), here, plain(message(s)))
		case note(s) != "":
			m.line("Note over n%d: %s", here, plain(note(s)))
		}
		at = here
	}
	if b.Why != "" && at >= 0 {
		m.line("Note over n%d: %s", at, plain(string(b.Outcome)+": "+b.Why))
	}
}

func arrows(s *trace.Step) string {
	if s.Leg == trace.Reply || s.Leg == trace.Answer {
		return "-->>"
	}
	return "->>"
}

func message(s *trace.Step) string {
	switch {
	case s.Tunnel > 0 && s.Packet.Protocol == "ipip":
		return "IPIP " + s.Packet.String()
	case s.Tunnel > 0:
		return "VXLAN " + s.Packet.String()
	}
	return s.Packet.String()
}

// note is the note for a step in a diagram; empty for most.
func note(s *trace.Step) string {
	switch {
	case s.Kind == trace.RuleHit && s.Rewrite != nil:
		return fmt.Sprintf("%s %s rule %d: %s %s", s.Table, s.Chain, s.Rule, s.Verdict, s.Rewrite)
	case s.Kind == trace.RuleHit && (s.Verdict == "DROP" || s.Verdict == "REJECT"):
		return fmt.Sprintf("%s %s rule %d: %s", s.Table, s.Chain, s.Rule, s.Verdict)
	case s.Kind == trace.Conntrack:
		return "conntrack: " + s.Rewrite.String()
	case s.Kind == trace.Encap || s.Kind == trace.Policy || s.Kind == trace.Relay:
		return s.Text
	case s.Kind == trace.Deliver && s.Text != "":
		return s.Text + " takes " + s.Packet.String()
	}
	return ""
}

// plain removes Mermaid syntax: a semicolon ends a line, a number sign begins an
// entity.
func plain(text string) string {
	return strings.NewReplacer(";", ",", "#", "no. ", "\n", " ").Replace(text)
}
