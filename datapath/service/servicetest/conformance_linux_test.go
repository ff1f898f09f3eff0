package servicetest_test

import (
	"flag"
	"math/rand/v2"
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

// everyMode asks for the whole exam on every pod network, as make modes does.
var everyMode = flag.Bool("every-mode", false, "ask all questions on every pod network, not a share of them on most")

func TestBackendsInNamespaces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	// The first two pod networks get all questions, the others and the layouts of rules a share
	// of them, different ones each time. On a slow machine the first setup gets all questions, the others every
	// sixth.
	turn, modes := rand.IntN(1000), len(datapath.ClusterModes())
	asked := func(s servicetest.Setup, setup, question int) bool {
		if *everyMode {
			return true
		}
		if s.One && (question+turn+setup)%modes != 0 {
			return false
		}
		return flow.TimeScale() == 1 || setup == 0 || (question+turn)%6 == setup%6
	}
	for _, b := range datapath.Backends() {
		t.Run(b.Name, func(t *testing.T) { servicetest.Run(t, b.Name, servicetest.Kernel, asked) })
	}
}
