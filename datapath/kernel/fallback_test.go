//go:build linux

package kernel

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/netlab/netlab/datapath/plan"
)

// Tunnel modules create a fallback device in every namespace, new or not, while this
// setting is 0 (Documentation/admin-guide/sysctl/net.rst).
const fallbackTunnels = "/proc/sys/net/core/fb_tunnels_only_for_init_net"

// TestFallbackDevicesAreIgnored builds, changes and reads a lab while every new
// namespace starts with tunl0 and sit0.
func TestFallbackDevicesAreIgnored(t *testing.T) {
	if os.Getenv("NLAB_VM") == "" {
		t.Skip("this kernel lacks a machine of its own: the test loads modules and changes a global sysctl")
	}
	before, err := os.ReadFile(fallbackTunnels)
	if err == nil {
		err = os.WriteFile(fallbackTunnels, []byte("0"), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(fallbackTunnels, before, 0); err != nil {
			t.Error(err)
		}
	})
	for _, module := range []string{"ipip", "sit"} {
		if out, err := exec.Command("modprobe", module).CombinedOutput(); err != nil {
			t.Fatalf("modprobe %s: %v: %s", module, err, out)
		}
	}
	k := applied(t, podless())
	for _, want := range []*plan.Plan{small(), podless(), small()} {
		mustApply(t, k, want)
	}
	own := 0
	for _, name := range k.Names() {
		in(t, k, name, func(h *netlink.Handle) error {
			list, err := h.LinkList()
			for _, l := range list {
				if l.Type() == "ipip" || l.Type() == "sit" {
					own++
				}
			}
			return err
		})
	}
	if own < 2*len(k.Names()) {
		t.Errorf("the kernel created %d fallback devices in %d namespaces: nothing was tested", own, len(k.Names()))
	}
	if again := mustApply(t, k, small()); !again.Empty() {
		t.Errorf("the second apply changed %v", again.Lines())
	}
}

func TestPodsAreAddedToExistingNodes(t *testing.T) {
	k := applied(t, podless())
	for _, want := range []*plan.Plan{small(), podless(), small()} {
		mustApply(t, k, want)
	}
}

// podless is small without its pod.
func podless() *plan.Plan {
	p := small()
	p.Netns = slices.DeleteFunc(p.Netns, func(n plan.Netns) bool { return n.Kind == plan.Pod })
	for i := range p.Netns {
		n := &p.Netns[i]
		n.Links = slices.DeleteFunc(n.Links, func(l plan.Link) bool { return l.Name == "va" })
	}
	return p
}
