package inside

import (
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/kernel"
	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// tunnelled is a node with a TUN device and the tunnel that it is for.
func tunnelled(peers ...occupant.TunnelPeer) *plan.Plan {
	return &plan.Plan{Lab: "tunnelled", Netns: []plan.Netns{{Name: "node.a", Kind: plan.Node,
		Links: []plan.Link{{Name: "flannel0", Type: plan.TUN, MTU: 1472}},
		Addrs: []plan.Addr{{Link: "flannel0", Prefix: netip.MustParsePrefix("10.244.1.0/32")}},
		Tunnels: []occupant.Tunnel{{Link: "flannel0", At: netip.MustParseAddrPort("127.0.0.1:8285"),
			Pods: []netip.Prefix{netip.MustParsePrefix("10.244.1.0/24")}, Peers: peers}}}}}
}

// A tunnel goes on when its peers change, is started again when it has ended, which is
// drift, and ends with its part of the plan.
func TestLifeOfATunnel(t *testing.T) {
	for f, err := range features.Missing(t.Context(), []feature.Feature{feature.Tun}) {
		t.Skipf("this machine lacks %s: %v", f, err)
	}
	in, err := New()
	if err != nil {
		t.Fatal(err)
	}
	k := kernel.New(in.Hooks())
	t.Cleanup(func() {
		in.Close()
		k.Close("")
	})
	apply := func(p *plan.Plan) carrier {
		t.Helper()
		encoded, err := plan.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		own, err := plan.Decode(string(encoded)) // the kernel keeps it
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Apply(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		have, err := k.Read(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if drift := plan.Drift(have, p); drift != nil {
			t.Fatalf("not as planned: %q", drift)
		}
		if x := in.spaces["node.a"].tunnels["flannel0"]; x != nil {
			return x.carrier
		}
		return nil
	}
	first := apply(tunnelled())
	peer := occupant.TunnelPeer{Pods: netip.MustParsePrefix("10.244.2.0/24"), Node: netip.MustParseAddrPort("127.0.0.1:9999")}
	if second := apply(tunnelled(peer)); second != first || first.Err() != nil {
		t.Errorf("a change of peers starts another tunnel, or ends it: %v", first.Err())
	}
	ns, err := k.Namespace("node.a")
	if err != nil {
		t.Fatal(err)
	}
	if err := ns.Do(func() error { return exec.Command("ip", "link", "delete", "dev", "flannel0").Run() }); err != nil {
		t.Fatal(err)
	}
	want := tunnelled(peer)
	have, err := k.Read(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if drift := plan.Drift(have, want); !slices.ContainsFunc(drift, func(s string) bool { return strings.Contains(s, "the tunnel of flannel0 has ended") }) {
		t.Errorf("drift does not name the tunnel: %q", drift)
	}
	third := apply(want)
	if third == first || third.Err() != nil {
		t.Errorf("the tunnel is not started again: %v", third.Err())
	}
	want.Netns[0].Tunnels = nil
	if apply(want) != nil || third.Err() == nil {
		t.Error("the tunnel outlives its part of the plan")
	}
}
