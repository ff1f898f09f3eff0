package suite

import (
	"fmt"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/scenarios/expect/state"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/topology"
)

// Mistakes are what expectations without a fault say of hosts that they do not have in the plan:
// interfaces, chains, sets, tables and tools. Such a claim would fail, or hold whatever happens.
func Mistakes(s *language.Scenario, p *plan.Plan) (all topology.Problems) {
	for _, e := range s.Expects {
		if e.During != nil {
			continue // the fault may have taken it away
		}
		for _, c := range e.State {
			n := netnsOf(p, c.On().Netns)
			switch c := c.(type) {
			case *state.Seen:
				if n != nil && c.Link != "lo" && linkOf(p, n.Name, c.Link).Name == "" {
					var links []string
					for _, l := range n.Links {
						links = append(links, l.Name)
					}
					all = append(all, topology.Problem{Origin: c.Origin, Summary: "No such interface",
						Detail: fmt.Sprintf("%s has no interface %q.%s It has %s.", c.Name, c.Link, topology.DidYouMean(c.Link, links), strings.Join(append(links, "lo"), ", "))})
				}
			case *state.Rules:
				if agentWrites(p, c) {
					continue // what that writes is not in the plan
				}
				if why := c.Unknown(linesOf(n)); why != "" {
					all = append(all, topology.Problem{Origin: c.Origin, Summary: "No such rules",
						Detail: fmt.Sprintf("%s Those that there are: netlab rules -f FILE %s.", why, c.Name)})
				}
			}
		}
	}
	return all
}
