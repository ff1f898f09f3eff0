package servicetest

import (
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
)

// Paper follows packets through the plan.
func Paper(_ testing.TB, p *plan.Plan, cases []Case) []Result {
	world := walk.New(p)
	results := make([]Result, 0, len(cases))
	for i := range cases {
		c := &cases[i]
		prediction := world.Walk(c.Flow)
		var r Result
		for _, e := range prediction.Results() {
			if end := e.Value.Core(); !slices.Contains(r.Ends, end) {
				r.Ends = append(r.Ends, end)
			}
		}
		for j := range prediction.Branches {
			b := &prediction.Branches[j]
			for _, later := range world.WalkFrom(b.State, c.Flow).Results() {
				r.Strayed = r.Strayed || later.Value != b.Result
			}
			if !c.Sticky {
				break
			}
		}
		if c.judge(r) != "" {
			r.Trace = render.Text(prediction, render.Brief)
		}
		results = append(results, r)
	}
	return results
}
