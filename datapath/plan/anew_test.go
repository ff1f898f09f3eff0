package plan

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/occupant"
)

// To whom a namespace belongs is decided when it is made: one that programs may change from now
// on is made anew, with all that leads to it.
func TestANamespaceThatProgramsMayChangeIsMadeAnew(t *testing.T) {
	lab := func(admin bool) *Plan {
		return &Plan{Netns: []Netns{
			{Name: "node.n", Kind: Node, Links: []Link{{Name: "veth0", Type: Veth, Peer: Peer{"pod.a", "eth0"}}, {Name: "cni0", Type: Bridge}},
				Routes: []Route{{To: prefix("10.0.0.2/32"), Dev: "veth0"}, {To: prefix("10.0.0.0/24"), Dev: "cni0"}}},
			{Name: "pod.a", Kind: Pod, Links: []Link{{Name: "eth0", Type: Veth, Peer: Peer{"node.n", "veth0"}}}, Execs: []occupant.Exec{{Name: "a", Argv: []string{"sleep"}, NetAdmin: admin}},
				Addrs: []Addr{{Link: "eth0", Prefix: netip.MustParsePrefix("10.0.0.2/32")}}},
		}}
	}
	c := Diff(lab(false), lab(true))
	if len(c.Create)+len(c.Edit) != 1 || len(c.Remove) != 1 || len(c.Again) != 1 || len(c.Again[0].Create) != 1 {
		t.Fatalf("%d created, %d edited, %q removed, then %+v", len(c.Create), len(c.Edit), c.Remove, c.Again)
	}
	if got := c.Summary(); !strings.Contains(got, "1 network namespace made anew") || strings.Contains(got, "removed") {
		t.Error(got)
	}
	all := strings.Join(c.Lines(), "\n")
	var at int
	for _, line := range []string{"ip netns delete pod.a", "ip netns add pod.a", "type veth peer name veth0 netns node.n", "ip -n node.n route add 10.0.0.2/32 dev veth0"} {
		next := strings.Index(all[at:], line)
		if next < 0 {
			t.Fatalf("%q is missing after\n%s\nin\n%s", line, all[:at], all)
		}
		at += next
	}
	if strings.Contains(all, "cni0") {
		t.Errorf("touches what stays:\n%s", all)
	}
	if c := Diff(lab(true), lab(false)); len(c.Remove)+len(c.Again) > 0 {
		t.Errorf("a namespace is enough for a program that may do less: %+v", c)
	}
}
