package servicetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
)

// Case is one question and its right answer.
type Case struct {
	Name string
	Flow flow.Flow
	// Ends are all ways that the connection may end. Each happens sometimes.
	Ends []flow.End
	// Sticky asks that a client that connects again gets the same end.
	Sticky bool
	q      question
}

// Result is what was found out about a case.
type Result struct {
	Ends    []flow.End // without repetition
	Strayed bool       // a sticky client got another end
	Trace   string     // for failures: what the packet met
}

// Prober finds out about the cases in a lab, in their order.
type Prober func(t testing.TB, p *plan.Plan, cases []Case) []Result

// Setups are the labs in which a backend sits the exam: every question in two pod
// networks, and the effects of options.
func Setups(backend string) []Setup {
	list := []Setup{
		{Name: "host-gw", Mode: "host-gw"},
		{Name: "vxlan", Mode: "vxlan"},
		{Name: "IPv6", Mode: "host-gw", IPv6: true},
		{Name: "pods keep their address", Mode: "host-gw", KeepSource: true},
		{Name: "masquerade all", Mode: "host-gw", MasqueradeAll: true},
		{Name: "pods not told apart", Mode: "host-gw", NoDetector: true},
	}
	if backend == "iptables" {
		list = append(list, Setup{Name: "legacy layout", Mode: "host-gw", Layout: "legacy"})
	}
	for i := range list {
		list[i].Backend = backend
	}
	return list
}

// Cases are the questions of a setup.
func (r *room) cases() []Case {
	var list []Case
	for _, q := range questions() {
		list = append(list, Case{Name: q.name(), Flow: q.flow(r, q.service()), Ends: r.right(q), q: q})
	}
	return append(list, r.otherCases()...)
}

// Run lets a backend sit the exam. asked says which of a setup's questions are asked, by
// their places; nil: all.
func Run(t *testing.T, backend string, probe Prober, asked func(setup, question int) bool) {
	for k, s := range Setups(backend) {
		t.Run(s.Name, func(t *testing.T) {
			r := open(t, &s)
			var cases []Case
			for i, c := range r.cases() {
				if asked == nil || asked(k, i) {
					cases = append(cases, c)
				}
			}
			results := probe(t, r.plan, cases)
			wrong := 0
			for i, c := range cases {
				if text := c.judge(results[i]); text != "" {
					if wrong++; wrong <= 20 {
						t.Errorf("%s\n%s\n%s", c.Name, text, results[i].Trace)
					}
				}
			}
			if wrong > 20 {
				t.Errorf("%d of %d cases are wrong", wrong, len(cases))
			}
		})
	}
}

// judge says what is wrong with a result, or nothing.
func (c *Case) judge(got Result) string {
	var wrong []string
	for _, e := range got.Ends {
		if !slices.Contains(c.Ends, e) {
			wrong = append(wrong, "  but was: "+e.String())
		}
	}
	if !c.Sticky || len(got.Ends) == 0 {
		for _, e := range c.Ends {
			if !slices.Contains(got.Ends, e) {
				wrong = append(wrong, "  was not: "+e.String())
			}
		}
	}
	if c.Sticky && got.Strayed {
		wrong = append(wrong, "  the client strayed")
	}
	if wrong == nil {
		return ""
	}
	text := fmt.Sprintf("  %s %s\n", c.Flow.From, c.Flow.To)
	for _, e := range c.Ends {
		text += "  want: " + e.String() + "\n"
	}
	return text + strings.Join(wrong, "\n")
}
