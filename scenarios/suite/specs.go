//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/reports"
)

// Specs registers the specs of all labs with Ginkgo. It must be called while the
// tree is built, once per process.
func (r *Runner) Specs() {
	// The labs outlive this Ginkgo node, whose context would end them.
	ginkgo.BeforeSuite(func() { r.Start(context.Background()) })
	ginkgo.AfterSuite(r.Stop)
	for _, x := range r.runs {
		x.specs()
	}
}

func (x *run) specs() {
	s := x.lab.Scenario
	top := types.CodeLocation{FileName: x.lab.Path, LineNumber: 1}
	ginkgo.Describe(s.Title(), top, ginkgo.Label("kernel"), func() {
		ginkgo.It("comes up", top, func(ctx ginkgo.SpecContext) {
			await(ctx, x.up)
			settle(x.upErr, top)
		})
		for i, e := range s.Expects {
			at := types.CodeLocation{FileName: s.Path(e.Origin.File), LineNumber: e.Origin.Line}
			ginkgo.It(e.Name, at, func(ctx ginkgo.SpecContext) {
				await(ctx, x.done[i])
				judge(x.results[i], at)
			})
		}
		ginkgo.It("goes down", top, func(ctx ginkgo.SpecContext) {
			await(ctx, x.down)
			settle(x.downErr, top)
		})
	})
}

func await(ctx ginkgo.SpecContext, ready <-chan struct{}) {
	select {
	case <-ready:
	case <-ctx.Done():
		ginkgo.Fail("interrupted")
	}
}

// settle passes, skips or fails a spec by an error. Only a missing kernel feature is a
// reason to skip.
func settle(err error, at types.CodeLocation) {
	var lacks *engine.UnsupportedError
	reason := notInstalled(err)
	switch {
	case errors.As(err, &lacks):
		ginkgo.Skip(err.Error())
	case reason != "":
		ginkgo.Skip(reason)
	case err != nil:
		fail(err.Error(), at)
	}
}

func judge(result reports.Result, at types.CodeLocation) {
	switch result.Status {
	case reports.Passed:
	case reports.Skipped:
		ginkgo.Skip(result.Reason)
	default:
		fail(Explain(result), at)
	}
}

// fail fails the spec at a line of the scenario.
func fail(message string, at types.CodeLocation) {
	ginkgo.Fail(fmt.Sprintf("%s\n%s:%d", message, at.FileName, at.LineNumber))
}

// Explain describes why an expectation failed: what was wanted, what was observed, and
// the policies that decided or the rules that the packets should have met.
func Explain(r reports.Result) string {
	var b strings.Builder
	if r.Failure != "" {
		b.WriteString(r.Failure)
	}
	for _, row := range r.Rows {
		if row.OK && !row.Disagrees {
			continue
		}
		fmt.Fprintf(&b, "%s\n  wanted:    %s\n  observed:  %s\n  predicted: %s\n", row.Title(), row.Wanted, row.Observed, row.Predicted)
		for _, policy := range row.Policies {
			fmt.Fprintf(&b, "  policy:    %s\n", policy)
		}
		if row.Explain != "" {
			fmt.Fprintf(&b, "  explain:   %s\n", row.Explain)
		}
		if len(row.Rules) > 0 {
			b.WriteString("  rules that the packet should have met:\n")
		}
		for _, rule := range row.Rules {
			fmt.Fprintf(&b, "    %s\n", rule)
		}
		for _, p := range row.Programs {
			fmt.Fprintf(&b, "  the program of %s: %s\n    %s\n", p.Name, p.State, strings.Join(p.Lines, "\n    "))
		}
	}
	return b.String()
}
