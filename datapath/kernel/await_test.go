//go:build linux

package kernel

import (
	"context"
	"errors"
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
	if err := await(300 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with the other end down: %v", err)
	}
	set(true)
	if err := await(5 * time.Second); err != nil {
		t.Errorf("with the other end up: %v", err)
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
