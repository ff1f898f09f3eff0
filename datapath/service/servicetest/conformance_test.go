package servicetest_test

import (
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/service/servicetest"
)

func TestBackendsOnPaper(t *testing.T) {
	for _, b := range datapath.Backends() {
		t.Run(b.Name, func(t *testing.T) { servicetest.Run(t, b.Name, servicetest.Paper, nil) })
	}
}
