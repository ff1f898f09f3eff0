package expect

import (
	"net/netip"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
)

// table is a claim about a and b: a reaches b, b does not reach a.
func table() *Reach {
	place := func(name, addr string) Place {
		return Place{Name: name, Netns: "pod." + name, Addrs: []netip.Addr{netip.MustParseAddr(addr)}}
	}
	target := func(name, addr string) Target {
		return Target{Name: "pod " + name + ":80", Addr: netip.MustParseAddrPort(addr + ":80")}
	}
	return &Reach{
		Name: "table", From: []Place{place("a", "10.0.0.1"), place("b", "10.0.0.2")}, To: []Target{target("a", "10.0.0.1"), target("b", "10.0.0.2")},
		Allow: &Allow{Pairs: [][]bool{{true, true}, {false, true}}, Denied: flow.Timeout},
	}
}

func TestATruthTableInWords(t *testing.T) {
	e := table()
	if got, want := e.Describe(), "a and b to pod a:80 and pod b:80 over tcp: 3 of 4 pairs connected, all others timeout"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A pod that reaches itself proves that something listens.
func TestSilenceInATruthTable(t *testing.T) {
	e := table()
	if w := Controls(nil, []*Reach{e}); len(w) != 0 {
		t.Errorf("got %v", w)
	}
	e.Allow.Pairs = [][]bool{{false, true}, {false, true}}
	if w := Controls(nil, []*Reach{e}); len(w) != 1 {
		t.Errorf("got %v, want a warning about a", w)
	}
}
