// Package suite runs scenarios as Ginkgo specs: every scenario is a container and
// every expect block a spec, whose code location is the line of the block. netlab
// test and go test ./scenarios run the same specs.
//
// Labs are built in parallel, and all probes of a lab run concurrently; the specs,
// which Ginkgo runs one after the other, only wait for their results. So a run takes
// about as long as its slowest expectation. Start reading at runner.go; specs.go is
// what Ginkgo sees.
package suite
