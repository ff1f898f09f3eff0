package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk/trace"
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
//
// What asks for the address of a name comes first.
func Text(p trace.Prediction, d Detail) string {
	var b strings.Builder
	if l := p.Flow.Lookup; l != nil {
		fmt.Fprintf(&b, "%s looks up %s\n\n", p.Flow.From, strings.Join(l.Names, " "))
	}
	for _, query := range p.Asked {
		b.WriteString(Text(query, d))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s -> %s %s\n", p.Flow.From, cmp.Or(p.Flow.Protocol, flow.TCP), p.Flow.To)
	for _, e := range p.Results() {
		fmt.Fprintf(&b, "  %s  %s\n", percent(e.Probability), e.Value)
	}
	for i := range p.Branches {
		b.WriteByte('\n')
		branchText(&b, p, i, d)
	}
	return b.String()
}

func branchText(b *strings.Builder, p trace.Prediction, i int, d Detail) {
	br := &p.Branches[i]
	if len(p.Branches) > 1 {
		fmt.Fprintf(b, "branch %d of %d, %s: ", i+1, len(p.Branches), percent(br.Probability))
	}
	fmt.Fprintln(b, br.Result)
	if br.Why != "" {
		fmt.Fprintf(b, "  because %s\n", br.Why)
	}
	if br.Outcome == flow.DNS && len(p.Asked) > 0 {
		return // the query is above
	}
	from := 0
	if i > 0 {
		if from = common(br, &p.Branches[i-1]); from > 0 {
			fmt.Fprintf(b, "  the first %d steps as in branch %d\n", from, i)
		}
	}
	var w textWriter
	for j := from; j < len(br.Steps); j++ {
		if s := &br.Steps[j]; d == Full || matters(s) {
			w.step(b, s)
		}
	}
}

func common(b, other *trace.Branch) int {
	n := 0
	for n < len(b.Steps) && n < len(other.Steps) && same(b.Steps[n], other.Steps[n]) {
		n++
	}
	return n
}

func same(a, b trace.Step) bool {
	if a.Rewrite != nil && b.Rewrite != nil && *a.Rewrite == *b.Rewrite {
		a.Rewrite, b.Rewrite = nil, nil
	}
	return a == b
}

// matters reports whether a step is relevant to the packet: not a jump to a chain in
// which nothing matched, nor rules that accept a tunnel's packet.
func matters(s *trace.Step) bool {
	switch {
	case s.Kind != trace.RuleHit:
		return true
	case s.Idle:
		return false
	}
	return s.Tunnel == 0 || s.Rewrite != nil || s.Verdict == "DROP" || s.Verdict == "REJECT"
}

// textWriter writes headings where legs, namespaces and hooks change.
type textWriter struct {
	leg         trace.Leg
	netns, hook string
}

func (w *textWriter) step(b *strings.Builder, s *trace.Step) {
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
	fmt.Fprintf(b, "    %s\n", line(s))
}

func hookOf(s *trace.Step) string {
	if s.Hook == "" {
		return ""
	}
	return strings.TrimPrefix(s.Table+" "+s.Hook, " ")
}

func devices(s *trace.Step) string {
	if s.In == "" && s.Out == "" {
		return ""
	}
	return " [" + strings.TrimSpace(s.In+" > "+s.Out) + "]"
}

func line(s *trace.Step) string {
	switch s.Kind {
	case trace.Send:
		return fmt.Sprintf("send     %s, by %s", s.Packet, s.Text)
	case trace.Route:
		return "route    " + s.Text
	case trace.RuleHit:
		return ruleLine(s)
	case trace.Policy:
		return "| " + s.Chain + " " + s.Text
	case trace.Conntrack:
		return fmt.Sprintf("conntrack  %s (%s)", s.Rewrite, s.Text)
	case trace.Balance:
		return "ipvs     " + s.Text
	case trace.Relay:
		return "proxy    " + s.Text
	case trace.Hop:
		return hopLine(s)
	case trace.Encap, trace.Decap:
		return fmt.Sprintf("%s    %s { %s }", s.Kind, s.Text, s.Packet)
	case trace.Deliver:
		return strings.TrimSuffix(fmt.Sprintf("deliver  %s to %s", s.Packet, s.Text), " to ")
	}
	return strings.ToUpper(string(s.Kind)) + "  " + s.Text
}

func ruleLine(s *trace.Step) string {
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

func hopLine(s *trace.Step) string {
	if s.Out != "" {
		return fmt.Sprintf("%s  %s > %s", s.Text, s.In, s.Out)
	}
	return fmt.Sprintf("in %s  %s  (from %s)", s.In, s.Packet, s.Text)
}

func percent(p float64) string {
	text := fmt.Sprintf("%.1f", 100*p)
	return strings.TrimSuffix(text, ".0") + " %"
}
