package walk

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
)

// Detail says how much of a trace a rendering shows.
type Detail int

// The details.
const (
	Brief Detail = iota // without steps that did not affect the packet
	Full
)

// Text is the prediction for a terminal: the possible results of the flow, then each
// branch step by step, from where it departs from the previous one.
func (p Prediction) Text(d Detail) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s -> %s %s\n", p.Flow.From, p.protocol(), p.Flow.To)
	for _, e := range p.Results() {
		fmt.Fprintf(&b, "  %s  %s\n", percent(e.Probability), e.Value)
	}
	for i := range p.Branches {
		b.WriteByte('\n')
		p.branchText(&b, i, d)
	}
	return b.String()
}

func (p Prediction) protocol() flow.Protocol { return cmp.Or(p.Flow.Protocol, flow.TCP) }

func (p Prediction) branchText(b *strings.Builder, i int, d Detail) {
	br := &p.Branches[i]
	if len(p.Branches) > 1 {
		fmt.Fprintf(b, "branch %d of %d, %s: ", i+1, len(p.Branches), percent(br.Probability))
	}
	fmt.Fprintln(b, br.Result)
	if br.Why != "" {
		fmt.Fprintf(b, "  because %s\n", br.Why)
	}
	from := 0
	if i > 0 {
		if from = br.common(&p.Branches[i-1]); from > 0 {
			fmt.Fprintf(b, "  the first %d steps as in branch %d\n", from, i)
		}
	}
	var w textWriter
	for j := from; j < len(br.Steps); j++ {
		if s := &br.Steps[j]; d == Full || s.matters() {
			w.step(b, s)
		}
	}
}

// common is the number of leading steps that two branches share.
func (b *Branch) common(other *Branch) int {
	n := 0
	for n < len(b.Steps) && n < len(other.Steps) && b.Steps[n].same(&other.Steps[n]) {
		n++
	}
	return n
}

func (s *Step) same(o *Step) bool {
	a, b := *s, *o
	if a.Rewrite != nil && b.Rewrite != nil && *a.Rewrite == *b.Rewrite {
		a.Rewrite, b.Rewrite = nil, nil
	}
	return a == b
}

// matters reports whether a step is relevant to the packet: not a jump to a chain in
// which nothing matched, nor rules that accept a tunnel's packet.
func (s *Step) matters() bool {
	switch {
	case s.Kind != RuleHit:
		return true
	case s.Idle:
		return false
	}
	return s.Tunnel == 0 || s.Rewrite != nil || s.Verdict == "DROP" || s.Verdict == "REJECT"
}

// textWriter writes headings where legs, namespaces and hooks change.
type textWriter struct {
	leg         Leg
	netns, hook string
}

func (w *textWriter) step(b *strings.Builder, s *Step) {
	if s.Leg != w.leg {
		w.leg, w.netns = s.Leg, ""
		fmt.Fprintf(b, "%s\n", s.Leg)
	}
	if s.Netns != w.netns {
		w.netns, w.hook = s.Netns, ""
		fmt.Fprintf(b, "  %s\n", s.Netns)
	}
	if h := hookOf(s); h != w.hook {
		w.hook = h
		if h != "" {
			fmt.Fprintf(b, "    %s%s\n", h, devices(s))
		}
	}
	fmt.Fprintf(b, "    %s\n", s.line())
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
	case Balance:
		return "ipvs     " + s.Text
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
	} else if s.Text != "" { // of nf_tables
		text += " " + s.Text
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
