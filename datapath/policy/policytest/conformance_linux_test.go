package policytest

import (
	"flag"
	"os"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
)

func TestMain(m *testing.M) {
	engine.Main() // this program is also the engine of the labs under test
	if targets := os.Getenv(holdVariable); targets != "" {
		os.Exit(hold(targets))
	}
	// Labs wait for the kernel and for timeouts, so eight of them fill two cores, those of
	// one test and the next alike. The command line still overrides this.
	_ = flag.Set("test.parallel", "8")
	os.Exit(m.Run())
}

// kernelSetups are the labs in which styles are tested in namespaces: the first with all
// cases, since a refusal is immediate where a drop is a timeout; the others with every
// twelfth, each lab its own. An ordinary user runs a quarter of these: inside a user
// namespace the kernel behaves the same.
func kernelSetups(style string) []Setup {
	list := []Setup{
		{Name: "vxlan, reject", Full: true, Mode: "vxlan", Deny: "reject"},
		{Name: "vxlan", Full: true, Mode: "vxlan", Deny: "drop"},
		{Name: "host-gw", Full: true, Mode: "host-gw", Deny: "drop"},
		{Name: "IPv6, reject", Full: true, Mode: "host-gw", Deny: "reject", IPv6: true},
	}
	for i := range list {
		list[i].Style = style
	}
	return list
}

// Each case is an update of the lab of the one before.
func TestStylesInNamespaces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	t.Parallel()
	share := 1
	if os.Getuid() != 0 {
		share = 4
	}
	for _, style := range datapath.Styles() {
		for k, s := range kernelSetups(style.Name) {
			t.Run(style.Name+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				r := enter(t, &s)
				lab := start(t)
				for i, c := range Cases() {
					if !asked(s.Style, &c) || k == 0 && i%share != 0 || k > 0 && i%(12*share) != k-1 {
						continue
					}
					j := r.judge(t, &c, s.planes(i))
					apply(t, lab, j.plan)
					right := r.rightEnds(j)
					r.report(t, j, right, kernel(t, lab, j.questions, right))
				}
			})
		}
	}
}
