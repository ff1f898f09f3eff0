package policytest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// judged is a case as it is asked: its plan, its questions and what is right.
type judged struct {
	*Case
	lab       *topology.Lab
	plan      *plan.Plan
	questions []question
	allowed   []bool
}

// judge compiles a case and says what is right about the questions on some planes.
func (r *room) judge(t testing.TB, c *Case, planes []plane) *judged {
	t.Helper()
	spec, lab, p := r.open(t, c)
	out := &judged{Case: c, lab: lab, plan: p, questions: r.questions(planes)}
	j := &judge{spec}
	for i := range out.questions {
		out.allowed = append(out.allowed, r.right(j, &out.questions[i]))
	}
	return out
}

// ends are the right ends of the questions.
func (r *room) rightEnds(j *judged) []flow.End {
	denied := flow.Timeout
	if r.Deny == "reject" {
		denied = flow.Refused
	}
	ends := make([]flow.End, 0, len(j.questions))
	for i := range j.questions {
		if !j.allowed[i] {
			ends = append(ends, flow.End{Outcome: denied})
			continue
		}
		ends = append(ends, flow.End{Outcome: flow.Connected, Answer: j.questions[i].to.agent})
	}
	return ends
}

// compare returns the questions that ended otherwise, as text.
func (j *judged) compare(right, got []flow.End) []string {
	var wrong []string
	for i := range right {
		if g := got[i]; g.Outcome != right[i].Outcome || g.Answer != right[i].Answer {
			q := &j.questions[i]
			wrong = append(wrong, fmt.Sprintf("%s, %s %s: want %s, got %s", q.name, q.flow.Protocol, q.flow.To, right[i], g))
		}
	}
	return wrong
}

// report fails a test for what was wrong in a case, unless it is what the style is
// known for.
func (r *room) report(t testing.TB, j *judged, right, got []flow.End) {
	t.Helper()
	wrong := j.compare(right, got)
	if r.Style == "legacy" && j.Legacy != "" {
		wrong = r.unlikeLegacy(j, right, got)
	}
	if len(wrong) == 0 {
		return
	}
	n := len(wrong)
	wrong = slices.Clone(wrong[:min(n, 8)])
	t.Errorf("%s: %d of %d connections are wrong:\n  %s", j.Name, n, len(j.questions), strings.Join(wrong, "\n  "))
}

// Setups are the labs in which a style sits the exam on paper: every pod network and
// every way to deny, and IPv6.
func Setups(style string) []Setup {
	list := []Setup{
		{Name: "vxlan", Full: true, Mode: "vxlan", Deny: "drop", SCTP: true},
		{Name: "vxlan, reject", Mode: "vxlan", Deny: "reject", SCTP: true},
		{Name: "host-gw", Mode: "host-gw", Deny: "drop", SCTP: true},
		{Name: "host-gw, reject", Mode: "host-gw", Deny: "reject", SCTP: true},
		{Name: "IPv6", Mode: "host-gw", Deny: "drop", IPv6: true, SCTP: true},
		{Name: "IPv6, reject", Mode: "vxlan", Deny: "reject", IPv6: true, SCTP: true},
	}
	for i := range list {
		list[i].Style = style
	}
	return list
}
