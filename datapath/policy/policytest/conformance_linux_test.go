package policytest

import (
	"flag"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
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

// everyStyle asks for the whole exam of every style, as make modes does.
var everyStyle = flag.Bool("every-style", false, "apply every case in every style, not in every other one in turn")

// share is how many cases there are for one that a style applies. Styles take different
// ones, so that root applies every case in half of the styles, and an ordinary user, for
// whom the kernel behaves the same inside a user namespace, each in one of four.
func share() int {
	switch {
	case *everyStyle:
		return 1
	case os.Getuid() == 0:
		return 2
	}
	return 4
}

// kernelSetups are the labs in which styles are tested in namespaces: the first with all
// cases of its share, since a refusal is immediate where a drop is a timeout; the others
// with every twelfth of them, each lab its own. The last is one of the other pod networks,
// a different one each time.
func kernelSetups(style string) []Setup {
	list := []Setup{
		{Name: "vxlan, reject", Full: true, Mode: "vxlan", Deny: "reject"},
		{Name: "vxlan", Full: true, Mode: "vxlan", Deny: "drop"},
		{Name: "host-gw", Full: true, Mode: "host-gw", Deny: "drop"},
		{Name: "IPv6, reject", Full: true, Mode: "host-gw", Deny: "reject", IPv6: true},
	}
	other := otherMode()
	list = append(list, Setup{Name: other, Full: true, Mode: other, Deny: "reject"})
	for i := range list {
		list[i].Style = style
	}
	return list
}

// otherMode is one of the other pod networks at random, or the one that go test -run names:
// TestStylesInNamespaces/calico/ipsec.
func otherMode() string {
	others := datapath.ClusterModes()[2:]
	if _, names, ok := strings.Cut(flag.Lookup("test.run").Value.String(), "/"); ok {
		named := regexp.MustCompile(`[a-z]+`).FindAllString(names, -1)
		for _, m := range others {
			if slices.Contains(named, m.Name) {
				return m.Name
			}
		}
	}
	return others[rand.IntN(len(others))].Name
}

// Each case is an update of the lab of the one before.
func TestStylesInNamespaces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	t.Parallel()
	share := share()
	for turn, style := range enforcing() {
		for k, s := range kernelSetups(style) {
			t.Run(style+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				r := enter(t, &s)
				lab := start(t)
				for i, c := range Cases() {
					if !asked(s.Style, &c) || k == 0 && i%share != turn%share || k > 0 && i%(12*share) != k-1 {
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
