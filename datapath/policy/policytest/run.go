package policytest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// enforcing are the names of the styles that enforce policies.
func enforcing() (names []string) {
	for _, s := range datapath.Styles() {
		if !s.Ignores {
			names = append(names, s.Name)
		}
	}
	return names
}

// asks reports whether the lab, number k of some, gets case number i.
func (s *Setup) asks(k, i int) bool { return s.Part == 0 || i%s.Part == k%s.Part }

// judged is a compiled case: its plan, its questions and the right answers.
type judged struct {
	*Case
	lab       *topology.Lab
	plan      *plan.Plan
	questions []question
	allowed   []bool
}

// judge compiles a case and computes the right answers to the questions on some planes.
func (r *testLab) judge(t testing.TB, c *Case, planes []plane) *judged {
	t.Helper()
	spec, lab, p := r.open(t, c)
	out := &judged{Case: c, lab: lab, plan: p, questions: r.questions(planes)}
	j := &judge{spec}
	for i := range out.questions {
		out.allowed = append(out.allowed, r.right(j, &out.questions[i]))
	}
	return out
}

// rightEnds are the right results of the questions.
func (r *testLab) rightEnds(j *judged) []flow.Result {
	denied := flow.Timeout
	if r.Deny == "reject" {
		denied = flow.Refused
	}
	ends := make([]flow.Result, 0, len(j.questions))
	for i := range j.questions {
		if !j.allowed[i] {
			ends = append(ends, flow.Result{Outcome: denied})
			continue
		}
		ends = append(ends, flow.Result{Outcome: flow.Connected, Answer: j.questions[i].to.agent})
	}
	return ends
}

// compare describes the questions whose result is wrong.
func (j *judged) compare(right, got []flow.Result) []string {
	var wrong []string
	for i := range right {
		if g := got[i]; g.Outcome != right[i].Outcome || g.Answer != right[i].Answer {
			q := &j.questions[i]
			wrong = append(wrong, fmt.Sprintf("%s, %s %s: want %s, got %s", q.name, q.flow.Protocol, q.flow.To, right[i], g))
		}
	}
	return wrong
}

// report fails a test for wrong results of a case, except the known faults of style
// legacy.
func (r *testLab) report(t testing.TB, j *judged, right, got []flow.Result) {
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

// Setups are the labs in which the conformance of a style is tested on paper: every pod network,
// dropping and rejecting, and IPv6. The first two pod networks get all cases, the others
// take turns.
func Setups(style string) []Setup {
	var list []Setup
	for k, m := range datapath.ClusterModes() {
		part := 0
		if k > 1 {
			part = 12
		}
		list = append(list, Setup{Name: m.Name, Full: k == 0, Part: part, Mode: m.Name, Deny: "drop", SCTP: true},
			Setup{Name: m.Name + ", reject", Part: part, Mode: m.Name, Deny: "reject", SCTP: true})
	}
	list = append(list, Setup{Name: "IPv6", Mode: "host-gw", Deny: "drop", IPv6: true, SCTP: true},
		Setup{Name: "IPv6, reject", Mode: "vxlan", Deny: "reject", IPv6: true, SCTP: true})
	for i := range list {
		list[i].Style = style
	}
	return list
}
