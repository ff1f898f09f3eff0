package servicetest_test

import (
	"os"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/service/servicetest"
)

func TestMain(m *testing.M) {
	engine.Main() // this program is also the engine of the labs under test
	os.Exit(m.Run())
}

func TestBackendsInNamespaces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	// On a slow machine the first setup gets all questions, the others every third.
	asked := func(setup, question int) bool {
		return flow.TimeScale() == 1 || setup == 0 || question%3 == setup%3
	}
	for _, b := range datapath.Backends() {
		t.Run(b.Name, func(t *testing.T) { servicetest.Run(t, b.Name, servicetest.Kernel, asked) })
	}
}
