package servicetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
)

// Case is one question and its right answer.
type Case struct {
	Name string
	Flow flow.Flow
	// Ends are all possible results of the connection. Each of them occurs.
	Ends []flow.Result
	// Sticky requires that a client that connects again gets the same result.
	Sticky bool
	q      question
}

// Result is what was observed of a case.
type Result struct {
	Ends    []flow.Result // without duplicates
	Strayed bool          // a sticky client got another endpoint
	Trace   string        // for failures: what the packet met
}

// Prober observes the cases in a lab, in order.
type Prober func(t testing.TB, p *plan.Plan, cases []Case) []Result

// Setups are the labs in which the conformance of a backend is tested: every question in
// every pod network, with various options, and in every layout of rules.
func Setups(backend string) []Setup {
	var list []Setup
	for i, m := range datapath.ClusterModes() {
		list = append(list, Setup{Name: m.Name, Mode: m.Name, One: i > 1})
	}
	list = append(list, []Setup{
		{Name: "IPv6", Mode: "host-gw", IPv6: true},
		{Name: "pods keep their address", Mode: "host-gw", KeepSource: true},
		{Name: "masquerade all", Mode: "host-gw", MasqueradeAll: true},
		{Name: "no local detector", Mode: "host-gw", NoDetector: true},
	}...)
	mode := modeOf(backend)
	if layouts := mode.LayoutNames(); len(layouts) > 1 {
		for _, name := range layouts[1:] {
			list = append(list, Setup{Name: name + " layout", Mode: "host-gw", Layout: name, One: true})
		}
	}
	for i := range list {
		list[i].Backend = backend
	}
	return list
}

// Cases are the questions of a setup.
func (r *testLab) cases() []Case {
	var list []Case
	for _, q := range questions() {
		list = append(list, Case{Name: q.name(), Flow: q.flow(r, q.service()), Ends: r.right(q), q: q})
	}
	return append(list, r.otherCases()...)
}

// Run tests the conformance of a backend. asked selects questions of a setup by index; nil:
// all.
func Run(t *testing.T, backend string, probe Prober, asked func(s Setup, setup, question int) bool) {
	for k, s := range Setups(backend) {
		t.Run(s.Name, func(t *testing.T) {
			r := open(t, &s)
			var cases []Case
			for i, c := range r.cases() {
				if asked == nil || asked(s, k, i) {
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

// judge describes what is wrong with a result, or returns "".
func (c *Case) judge(got Result) string {
	var wrong []string
	for _, e := range got.Ends {
		if !slices.Contains(c.Ends, e) {
			wrong = append(wrong, "  got:  "+e.String())
		}
	}
	if !c.Sticky || len(got.Ends) == 0 {
		for _, e := range c.Ends {
			if !slices.Contains(got.Ends, e) {
				wrong = append(wrong, "  never: "+e.String())
			}
		}
	}
	if c.Sticky && got.Strayed {
		wrong = append(wrong, "  the client changed endpoints")
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
