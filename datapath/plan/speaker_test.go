package plan

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/bgp"
)

// speaker is that of node n with the given peers, all of one AS and on one link.
func speaker(n int, peers ...int) *bgp.Speaker {
	addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 168, 0, byte(i)}) }
	s := &bgp.Speaker{AS: 64512, ID: addr(n), Announces: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(n), 0}), 24)},
		Origin: Origin{Object: "network", File: "a.hcl", Line: 1}}
	for _, i := range peers {
		s.Peers = append(s.Peers, bgp.Peer{Name: "n" + addr(i).String(), Addr: addr(i), Local: addr(n), AS: 64512, NextHops: []netip.Addr{addr(n)}, Origin: Origin{Object: "node", File: "a.hcl", Line: i}})
		s.Hops = append(s.Hops, bgp.Hop{To: addr(i), Via: addr(i), Dev: "eth0"})
	}
	return s
}

// three are nodes in a full mesh.
func three() *Plan {
	p := &Plan{Lab: "x"}
	for n, peers := range map[int][]int{1: {2, 3}, 2: {1, 3}, 3: {1, 2}} {
		p.Netns = append(p.Netns, Netns{Name: "node.n" + string(rune('0'+n)), Kind: Node, Speakers: []bgp.Speaker{*speaker(n, peers...)}})
	}
	p.Learn()
	p.Sort()
	return p
}

func TestAPlanHasWhatItsSpeakersLearn(t *testing.T) {
	p := three()
	if text := string(p.Text()); !strings.Contains(text, "ip -n node.n1 route add 10.244.2.0/24 via 192.168.0.2 dev eth0 proto bgp # learned, not written") ||
		!strings.Contains(text, "# bgp session with n192.168.0.2 (192.168.0.2, AS 64512)") {
		t.Errorf("the plan does not show what it learns:\n%s", text)
	}
	p.Learn()
	p.Sort()
	if again := Diff(p, three()); !again.Empty() {
		t.Errorf("learned twice, it differs: %s", again.Summary())
	}
	p.Netns[0].Speakers[0].Peers[0].Down = true
	p.Learn()
	for i, want := range []int{1, 1, 2} {
		if n := len(p.Netns[i].Learned()); n != want {
			t.Errorf("with the session of n1 and n2 down, %s has %d routes, want %d", p.Netns[i].Name, n, want)
		}
	}
}

func TestDriftNamesSessionsAndLearnedRoutes(t *testing.T) {
	have, want := three(), three()
	have.Netns[0].Speakers[0].Peers[0].Down = true
	have.Netns[0].Routes = have.Netns[0].Routes[1:]
	drift := Drift(have, want)
	for _, line := range []string{
		"node.n1: learned route 10.244.2.0/24 via 192.168.0.2 dev eth0 proto bgp missing (a.hcl:2 node)",
		"node.n1: BGP session with n192.168.0.2 (192.168.0.2, AS 64512) is not established (a.hcl:2 node)",
	} {
		if !slices.Contains(drift, line) {
			t.Errorf("no %q in %q", line, drift)
		}
	}
	if c := Diff(have, want); c.Empty() || !c.Written().Empty() {
		t.Error("what speakers do by themselves counts as written")
	}
	have.Netns[0].Speakers = nil
	if drift := Drift(have, want); !slices.Contains(drift, "node.n1: BGP speaker (AS 64512, router ID 192.168.0.1) missing (a.hcl:1 network)") {
		t.Errorf("no speaker is missing: %q", drift)
	}
}
