package walk

import (
	"fmt"
	"strings"
)

// Text is the prediction for a terminal: what can come of the flow, then each way
// step by step.
func (p Prediction) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s -> %s %s\n", p.Flow.From, p.Flow.Protocol, p.Flow.To)
	for _, e := range p.Ends() {
		fmt.Fprintf(&b, "  %s  %s\n", percent(e.Probability), e.Value)
	}
	for i := range p.Branches {
		b.WriteByte('\n')
		p.branchText(&b, i)
	}
	return b.String()
}

func (p Prediction) branchText(b *strings.Builder, i int) {
	br := &p.Branches[i]
	if len(p.Branches) > 1 {
		fmt.Fprintf(b, "branch %d of %d, %s: ", i+1, len(p.Branches), percent(br.Probability))
	}
	fmt.Fprintln(b, br.End)
	if br.Why != "" {
		fmt.Fprintf(b, "  because %s\n", br.Why)
	}
	var leg Leg
	netns, hook := "", ""
	for j := range br.Steps {
		s := &br.Steps[j]
		if s.Leg != leg {
			leg, netns = s.Leg, ""
			fmt.Fprintf(b, "%s\n", leg)
		}
		if s.Netns != netns {
			netns, hook = s.Netns, ""
			fmt.Fprintf(b, "  %s\n", netns)
		}
		if h := hookOf(s); h != hook {
			hook = h
			if h != "" {
				fmt.Fprintf(b, "    %s%s\n", h, devices(s))
			}
		}
		fmt.Fprintf(b, "    %s\n", s.line())
	}
}

func hookOf(s *Step) string {
	if s.Hook == "" {
		return ""
	}
	if s.Table == "" {
		return s.Hook
	}
	return s.Table + " " + s.Hook
}

func devices(s *Step) string {
	switch {
	case s.In != "" && s.Out != "":
		return fmt.Sprintf(" [%s > %s]", s.In, s.Out)
	case s.In != "":
		return " [" + s.In + " >]"
	case s.Out != "":
		return " [> " + s.Out + "]"
	}
	return ""
}

// line is one step.
func (s *Step) line() string {
	switch s.Kind {
	case Send:
		return fmt.Sprintf("send     %s, by %s", s.Packet, s.Text)
	case Route:
		return "route    " + s.Text
	case RuleHit:
		return s.ruleLine()
	case Policy:
		return "| " + s.Chain + " " + s.Text
	case Conntrack:
		return fmt.Sprintf("conntrack  %s (%s)", s.Rewrite, s.Text)
	case Hop:
		return s.hopLine()
	case Encap, Decap:
		return fmt.Sprintf("%s    %s { %s }", s.Kind, s.Text, s.Packet)
	case Deliver:
		return strings.TrimSuffix(fmt.Sprintf("deliver  %s to %s", s.Packet, s.Text), " to ")
	}
	return strings.ToUpper(string(s.Kind)) + "  " + s.Text
}

func (s *Step) ruleLine() string {
	text := "|" + strings.Repeat("  ", s.Depth) + " " + fmt.Sprintf("%s #%d", s.Chain, s.Rule)
	if spec, ok := strings.CutPrefix(s.Text, "-A "+s.Chain); ok {
		text += spec
	}
	if s.Chance > 0 {
		text += fmt.Sprintf("  (taken with %s)", percent(s.Chance))
	}
	if s.Rewrite != nil {
		text += "  " + s.Rewrite.String()
	}
	if o := s.Origin.String(); o != "" {
		text += "  # " + o
	}
	return text
}

func (s *Step) hopLine() string {
	if s.Out != "" {
		return fmt.Sprintf("%s  %s > %s", s.Text, s.In, s.Out)
	}
	return fmt.Sprintf("in %s  %s  (from %s)", s.In, s.Packet, s.Text)
}

// String is the place and the object: local-policy.hcl:40 service default/web.
func (o Origin) String() string {
	text := o.Object
	if o.File != "" {
		text = strings.TrimRight(fmt.Sprintf("%s:%d %s", o.File, o.Line, o.Object), " ")
	}
	return text
}

func percent(p float64) string {
	text := fmt.Sprintf("%.1f", 100*p)
	return strings.TrimSuffix(text, ".0") + " %"
}
