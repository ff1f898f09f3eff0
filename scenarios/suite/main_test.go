//go:build linux

package suite_test

import (
	"flag"
	"os"
	"testing"

	"github.com/netlab/netlab/datapath/engine"
)

func TestMain(m *testing.M) {
	engine.Main()
	if to := os.Getenv(askVariable); to != "" {
		os.Exit(askOnce(to))
	}
	// Tests mostly wait for the kernel. The command line still overrides this.
	_ = flag.Set("test.parallel", "8")
	os.Exit(m.Run())
}
