//go:build linux

package kernel

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/netlab/netlab/datapath/plan"
)

// A link that is up while its other end is down carries nothing, as one whose other end
// has just been raised and which the kernel has not got to yet.
func TestApplyWaitsForItsLinks(t *testing.T) {
	k := applied(t, small())
	node, pod := k.spaces["node.n1"], k.spaces["pod.a"]
	await := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r := &runner{k: k, ctx: ctx, raised: map[*space]map[string]bool{}}
		r.raises(node, "va")
		return r.awaitUp()
	}
	if err := await(5 * time.Second); err != nil {
		t.Fatalf("as applied: %v", err)
	}
	set := func(up bool) {
		if err := pod.ns.Do(func() error {
			eth0, err := netlink.LinkByName("eth0")
			if err != nil {
				return err
			}
			if up {
				return netlink.LinkSetUp(eth0)
			}
			return netlink.LinkSetDown(eth0)
		}); err != nil {
			t.Fatal(err)
		}
	}
	set(false)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // the kernel takes its time here, too
		if down, err := node.notUp(map[string]bool{"va": true}, false); err != nil || down == "va" {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("va stays up while its other end is down")
		}
	}
	if err := await(300 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with the other end down: %v", err)
	}
	set(true)
	if err := await(5 * time.Second); err != nil {
		t.Errorf("with the other end up: %v", err)
	}
}

// A router of IPv6 asks for its neighbours from the link-local address.
func TestApplyWaitsForLinkLocalAddresses(t *testing.T) {
	want := small()
	n1 := &want.Netns[slices.IndexFunc(want.Netns, func(n plan.Netns) bool { return n.Name == "node.n1" })]
	n1.IPv6 = true
	n1.Addrs = append(n1.Addrs, plan.Addr{Link: "cni0", Prefix: pfx("fd00:10:244::1/64")})
	want.Sort()
	k := applied(t, want)
	va := map[string]bool{"va": true}
	notUp := func(addresses bool) string {
		down, err := k.spaces["node.n1"].notUp(va, addresses)
		if err != nil {
			t.Fatal(err)
		}
		return down
	}
	if down := notUp(true); down != "" {
		t.Errorf("as applied: %s is not ready", down)
	}
	in(t, k, "node.n1", func(h *netlink.Handle) error {
		cni0 := mustLink(h, "cni0")
		list, err := h.AddrList(cni0, netlink.FAMILY_V6)
		for _, a := range list {
			if a.IP.IsLinkLocalUnicast() {
				err = errors.Join(err, h.AddrDel(cni0, &a))
			}
		}
		return err
	})
	if down := notUp(true); down != "va" {
		t.Errorf("without the link-local address of its bridge: %q is not ready, want va", down)
	}
	if down := notUp(false); down != "" {
		t.Errorf("addresses aside: %s is not ready", down)
	}
}

// Of two ends, the one created first is raised without a carrier; so is a bridge
// without a port that is up.
func TestLinksToWaitFor(t *testing.T) {
	k := New(Hooks{})
	t.Cleanup(func() { k.Close("") })
	want := small()
	r := k.runner(t.Context())
	if err := r.carryOut(want.Steps()); err != nil {
		t.Fatal(err)
	}
	for _, n := range want.Netns {
		for _, l := range n.Links {
			if l.Type != plan.Veth {
				continue
			}
			first, master := r.raised[k.spaces[n.Name]][l.Name], l.Master != ""
			second := r.raised[k.spaces[l.Peer.Netns]][l.Peer.Link]
			if !first && !second || master && !first {
				t.Errorf("nothing waits for %s in %s", l.Name, n.Name)
			}
		}
	}
	if err := r.awaitUp(); err != nil {
		t.Error(err)
	}
}
