//go:build linux

package kernel

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/netlab/netlab/datapath/plan"
)

// updatable is a Kernel with the small lab that leaves out namespaces, however few.
func updatable(t *testing.T) *Kernel {
	t.Helper()
	k := applied(t, small())
	k.few = 1
	return k
}

// withRoute is the small lab with one more route on a node.
func withRoute(node string) *plan.Plan {
	p := small()
	for i := range p.Netns {
		if n := &p.Netns[i]; n.Name == node {
			n.Routes = append(n.Routes, plan.Route{To: pfx("203.0.113.0/24"), Via: ip("192.168.0.1"), Dev: "eth0"})
		}
	}
	p.Sort()
	return p
}

// edited names the namespaces that changes touch.
func edited(c plan.Changes) string {
	var names []string
	for _, e := range c.Edit {
		names = append(names, e.Netns)
	}
	return strings.Join(names, " ")
}

// asPlanned fails if the namespaces are not equal to the plan.
func asPlanned(t *testing.T, k *Kernel, want *plan.Plan) {
	t.Helper()
	have, err := k.Read(context.Background(), want)
	if err != nil {
		t.Fatal(err)
	}
	if drift := plan.Drift(have, want); len(drift) > 0 {
		t.Errorf("drift:\n%s", strings.Join(drift, "\n"))
	}
}

func runIPTables(t *testing.T, k *Kernel, netns string, args ...string) {
	t.Helper()
	ns, err := k.Namespace(netns)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(ns, exec.Command("iptables", args...)); err != nil {
		t.Fatal(err)
	}
}

// Drift elsewhere is left to the Apply that follows, including rules, though a node's
// are not listed if their generation is as applied.
func TestUpdateLeavesOutWhatItsChangeDoesNotTouch(t *testing.T) {
	for name, test := range map[string]struct {
		netns  string
		damage func(*testing.T, *Kernel)
	}{
		"a route": {"node.n1", func(t *testing.T, k *Kernel) { in(t, k, "node.n1", delRoute) }},
		"a rule":  {"node.n1", func(t *testing.T, k *Kernel) { runIPTables(t, k, "node.n1", "-t", "nat", "-F", "TEST") }},
		"the address of a pod": {"pod.a", func(t *testing.T, k *Kernel) {
			in(t, k, "pod.a", func(h *netlink.Handle) error {
				return h.AddrDel(mustLink(h, "eth0"), &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(10, 244, 11, 2), Mask: net.CIDRMask(24, 32)}})
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			k, want := updatable(t), withRoute("node.n2")
			test.damage(t, k)
			changes, rest, err := k.Update(context.Background(), want)
			if err != nil || !rest || edited(changes) != "node.n2" || k.Applied() != want {
				t.Fatalf("update: %v, rest %v, changed %q", err, rest, edited(changes))
			}
			changes, err = k.Apply(context.Background(), want)
			if err != nil || edited(changes) != test.netns {
				t.Errorf("apply after it: %v, changed %q, want %s", err, edited(changes), test.netns)
			}
			asPlanned(t, k, want)
		})
	}
}

func TestUpdateRepairsWhereItChanges(t *testing.T) {
	k, want := updatable(t), withRoute("node.n1")
	in(t, k, "node.n1", delRoute)
	runIPTables(t, k, "node.n1", "-t", "nat", "-F", "TEST")
	changes, rest, err := k.Update(context.Background(), want)
	if err != nil || !rest || len(changes.Edit) != 1 || len(changes.Edit[0].Add.Routes) != 2 || len(changes.Edit[0].Tables) != 1 {
		t.Fatalf("update: %v, rest %v\n%s", err, rest, strings.Join(changes.Lines(), "\n"))
	}
	if again, err := k.Apply(context.Background(), want); err != nil || !again.Empty() {
		t.Errorf("apply after it: %v %s", err, strings.Join(again.Lines(), "\n"))
	}
	asPlanned(t, k, want)
}

func TestUpdateReadsEverything(t *testing.T) {
	never := func(*testing.T, *Kernel) {}
	for name, test := range map[string]struct {
		before func(*testing.T, *Kernel)
		want   func() *plan.Plan
	}{
		"when the plans do not differ": {never, small},
		"when a namespace is added": {never, func() *plan.Plan {
			p := withRoute("node.n2")
			p.Netns = append(p.Netns, plan.Netns{Name: "pod.b", Kind: plan.Pod})
			return p
		}},
		"when a namespace is removed": {never, func() *plan.Plan {
			p := withRoute("node.n2")
			p.Netns = slices.DeleteFunc(p.Netns, func(n plan.Netns) bool { return n.Name == "pod.a" })
			p.Netns[1].Links = slices.DeleteFunc(p.Netns[1].Links, func(l plan.Link) bool { return l.Name == "va" })
			return p
		}},
		"when a link changes": {never, func() *plan.Plan {
			p := small()
			p.Netns[2].Links[0].MTU = 1400
			return p
		}},
		"when a link drifted where it changes": {func(t *testing.T, k *Kernel) { in(t, k, "node.n2", delLink("cni0")) },
			func() *plan.Plan { return withRoute("node.n2") }},
		"when the rest is small": {func(_ *testing.T, k *Kernel) { k.few = few }, func() *plan.Plan { return withRoute("node.n2") }},
		"after a failed Apply": {func(t *testing.T, k *Kernel) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := k.Apply(ctx, small()); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}, func() *plan.Plan { return withRoute("node.n2") }},
	} {
		t.Run(name, func(t *testing.T) {
			k, want := updatable(t), test.want()
			test.before(t, k)
			in(t, k, "node.n1", delRoute)
			if changes, rest, err := k.Update(context.Background(), want); err != nil || rest || !strings.Contains(edited(changes), "node.n1") {
				t.Errorf("update: %v, rest %v, changed %q, want node.n1 among them", err, rest, edited(changes))
			}
			asPlanned(t, k, want)
		})
	}
}

// A veth whose other end is not read is trusted, and checked by the Apply that follows.
func TestAVethWithAnotherPeerIsFoundLater(t *testing.T) {
	k, want := updatable(t), withRoute("node.n1")
	in(t, k, "node.n1", func(h *netlink.Handle) error {
		old := mustLink(h, "va").(*netlink.Veth)
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU, attrs.HardwareAddr = "va", old.MTU, old.HardwareAddr
		if err := h.LinkDel(old); err != nil {
			return err
		}
		if err := h.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "other"}); err != nil {
			return err
		}
		va := mustLink(h, "va")
		// Where it is not read: a link too many would be found at once.
		if err := errors.Join(h.LinkSetNsFd(mustLink(h, "other"), k.spaces["node.n2"].ns.FD()), h.LinkSetMaster(va, mustLink(h, "cni0")), h.LinkSetUp(va)); err != nil {
			return err
		}
		return h.LinkSetHairpin(va, true)
	})
	changes, rest, err := k.Update(context.Background(), want)
	if err != nil || !rest || edited(changes) != "node.n1" {
		t.Fatalf("update: %v, rest %v, changed %q", err, rest, edited(changes))
	}
	if _, err := k.Apply(context.Background(), want); err != nil {
		t.Fatal(err)
	}
	asPlanned(t, k, want)
}

func TestARefusedUpdateChangesNothing(t *testing.T) {
	k := updatable(t)
	refusal := errors.New("no")
	k.hooks.Check = func(context.Context, plan.Changes) error { return refusal }
	before := k.Applied()
	if _, _, err := k.Update(context.Background(), withRoute("node.n2")); !errors.Is(err, refusal) || k.Applied() != before {
		t.Errorf("update: %v", err)
	}
	asPlanned(t, k, small())
}

func TestAnUpdateThatFailsIsFollowedByOneThatReadsEverything(t *testing.T) {
	k, broken := updatable(t), withRoute("node.n2")
	for i := range broken.Netns {
		if n := &broken.Netns[i]; n.Name == "node.n2" {
			n.Routes = append(n.Routes, plan.Route{To: pfx("198.51.100.0/24"), Via: ip("172.31.0.1"), Dev: "eth0"}) // unreachable
		}
	}
	broken.Sort()
	if _, _, err := k.Update(context.Background(), broken); err == nil {
		t.Fatal("no error")
	}
	want := withRoute("node.n1")
	if _, rest, err := k.Update(context.Background(), want); err != nil || rest {
		t.Errorf("update: %v, rest %v", err, rest)
	}
	asPlanned(t, k, want)
}

func TestUpdatesLeakNoDescriptors(t *testing.T) {
	open := func() int {
		t.Helper()
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	k := updatable(t)
	before := 0
	for i := range 20 {
		want := withRoute([]string{"node.n1", "node.n2"}[i%2])
		if _, rest, err := k.Update(context.Background(), want); err != nil || !rest {
			t.Fatalf("update %d: %v, rest %v", i, err, rest)
		}
		if _, err := k.Apply(context.Background(), want); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			before = open()
		}
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors are open after 20 updates, %d after the first", after, before)
	}
}
