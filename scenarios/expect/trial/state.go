package trial

import (
	"cmp"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/expect/state"
)

// Found is the judgement of a claim about a host on what paper says, and on what was observed;
// nil: nothing was.
func Found(c state.Claim, paper state.Verdict, seen *state.Verdict, paths int) reports.Row {
	row := reports.Row{Who: c.On().Name, To: c.Subject(), Wanted: c.Wanted(), About: true}
	known := paper.Unknown == ""
	if row.Predicted = sentences(slices.Concat([]string{paper.Shown}, paper.Wrong)); !known {
		row.Predicted, row.Unknown = "not predicted: "+paper.Unknown, seen == nil
	}
	row.OK = !known || len(paper.Wrong) == 0
	if seen == nil {
		return row
	}
	row.Observed = sentences(slices.Concat([]string{seen.Shown}, seen.Wrong))
	holds := len(seen.Wrong) == 0 && seen.Unknown == ""
	// What holds of the connections that were made need not hold of all paths.
	row.Disagrees = known && row.OK != holds && (row.OK || paths == 1)
	row.OK = row.OK && holds
	return row
}

// ViewsOnPaper are what a claim about a host sees of the paths of all pairs; unknown: why there is
// no telling.
func ViewsOnPaper(forecasts []Forecast, counts func(netns string, f Forecast, branch int) []flow.Count, lines func(netns string) []state.Line, c state.Claim) (views []state.View, unknown string) {
	for _, f := range forecasts {
		unknown = cmp.Or(unknown, f.Unknown)
		for i, b := range f.Prediction.Branches {
			if b.Probability == 0 {
				continue
			}
			v := state.View{Paper: true, Protocol: cmp.Or(f.Prediction.Flow.Protocol, flow.TCP), Sight: flow.Sight{Packets: b.Passed, Entries: b.Tracked}}
			if r, ok := c.(*state.Rules); ok {
				v.Counts, v.Lines = counts(r.Netns, f, i), lines(r.Netns)
			}
			views = append(views, v)
		}
	}
	return views, unknown
}

// Watched reports whether an expectation is about what is seen of each connection beside its
// result: then they are made one after the other.
func Watched(r *expect.Reach) bool {
	return slices.ContainsFunc(r.State, state.Claim.PerConnection)
}
