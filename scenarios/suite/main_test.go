//go:build linux

package suite_test

import (
	"os"
	"testing"

	"github.com/netlab/netlab/datapath/engine"
)

func TestMain(m *testing.M) {
	engine.Main()
	if to := os.Getenv(askVariable); to != "" {
		os.Exit(askOnce(to))
	}
	os.Exit(m.Run())
}
