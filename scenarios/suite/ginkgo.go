//go:build linux

package suite

import (
	"context"
	"io"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"
)

// Run runs the specs of all labs with Ginkgo inside an ordinary program, and
// reports whether all passed. Ginkgo prints nothing: the caller renders Report.
// It works once per process, as Ginkgo does.
func (r *Runner) Run(ctx context.Context) bool {
	formatter.ColorableStdOut = io.Discard
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.OutputInterceptorMode = "none"
	reporter.NoColor = true
	var t verdict
	r.Specs()
	r.Start(ctx)
	ginkgo.RunSpecs(&t, "netlab", suite, reporter)
	if t.failed && r.Report().NotRun > 0 {
		// Ginkgo has caught a signal, and may be told of it before ctx is.
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return !t.failed && ctx.Err() == nil
}

// verdict is the testing.T of a program that is not a test.
type verdict struct{ failed bool }

// Fail implements ginkgo.GinkgoTestingT.
func (v *verdict) Fail() { v.failed = true }
