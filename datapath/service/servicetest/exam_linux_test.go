package servicetest_test

import (
	"os"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
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
	for _, b := range datapath.Backends() {
		t.Run(b.Name(), func(t *testing.T) { servicetest.Run(t, b.Name(), servicetest.Kernel) })
	}
}
