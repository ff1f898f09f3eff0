//go:build linux

package kernel

import (
	"context"
	"os/exec"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
)

// ipsec is podless with associations and policies in node.n1, of both families.
func ipsec() *plan.Plan {
	p := podless()
	n := slices.IndexFunc(p.Netns, func(n plan.Netns) bool { return n.Name == "node.n1" })
	p.Netns[n].XfrmStates = []plan.XfrmState{{Src: ip("192.168.0.11"), Dst: ip("192.168.0.12"), SPI: 0xc0a8000b, Key: plan.ESPKey{1, 19: 2}},
		{Src: ip("192.168.0.12"), Dst: ip("192.168.0.11"), SPI: 0xc0a8000c, Key: plan.ESPKey{3}},
		{Src: ip("fd00::1"), Dst: ip("fd00::2"), SPI: 0x80000001, Key: plan.ESPKey{4}}}
	p.Netns[n].XfrmPolicies = []plan.XfrmPolicy{
		{Dir: plan.XfrmOut, From: pfx("10.244.11.0/24"), To: pfx("10.244.12.0/24"), Src: ip("192.168.0.11"), Dst: ip("192.168.0.12")},
		{Dir: plan.XfrmFwd, From: pfx("10.244.12.0/24"), To: pfx("10.244.11.0/24"), Src: ip("192.168.0.12"), Dst: ip("192.168.0.11")},
		{Dir: plan.XfrmIn, From: pfx("fd00:1::/64"), To: pfx("fd00:2::2/128"), Src: ip("fd00::2"), Dst: ip("fd00::1")}}
	p.Sort()
	return p
}

// What is applied is read back, by key and by family; what is missing, changed or extra is
// drift, and goes with the next apply.
func TestIPsecIsAppliedAndReadBack(t *testing.T) {
	for f, err := range features.Missing(context.Background(), []feature.Feature{feature.ESP}) {
		t.Skipf("this machine lacks %s: %v", f, err)
	}
	k := applied(t, ipsec())
	as := func(name string, want *plan.Plan, drift ...string) {
		t.Helper()
		have, err := k.Read(context.Background(), want)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Drift(have, want); !slices.Equal(got, drift) {
			t.Errorf("%s: drift\n%q\nwant\n%q", name, got, drift)
		}
	}
	as("as applied", ipsec())
	ns, err := k.Namespace("node.n1")
	if err != nil {
		t.Fatal(err)
	}
	err = ns.Do(func() error {
		return exec.Command("sh", "-e", "-c", `ip xfrm state delete src 192.168.0.11 dst 192.168.0.12 proto esp spi 0xc0a8000b
ip xfrm state delete src 192.168.0.12 dst 192.168.0.11 proto esp spi 0xc0a8000c
ip xfrm state add src 192.168.0.12 dst 192.168.0.11 proto esp spi 0xc0a8000c mode tunnel aead 'rfc4106(gcm(aes))' 0x0900000000000000000000000000000000000000 128
ip xfrm policy delete src 10.244.11.0/24 dst 10.244.12.0/24 dir out
ip xfrm policy add src 10.9.0.0/16 dst 10.8.0.0/16 dir in tmpl src 192.168.0.12 dst 192.168.0.11 proto esp mode tunnel`).Run()
	})
	if err != nil {
		t.Fatal(err)
	}
	as("damaged", ipsec(),
		"node.n1: xfrm state src 192.168.0.11 dst 192.168.0.12 proto esp spi 0xc0a8000b missing",
		"node.n1: xfrm policy src 10.244.11.0/24 dst 10.244.12.0/24 dir out tmpl src 192.168.0.11 dst 192.168.0.12 proto esp mode tunnel missing",
		"node.n1: xfrm state src 192.168.0.12 dst 192.168.0.11 proto esp spi 0xc0a8000c changed",
		"node.n1: xfrm policy src 10.9.0.0/16 dst 10.8.0.0/16 dir in tmpl src 192.168.0.12 dst 192.168.0.11 proto esp mode tunnel not in the plan")
	for _, want := range []*plan.Plan{ipsec(), podless(), ipsec()} {
		mustApply(t, k, want)
		as("applied again", want)
	}
	mustApply(t, k, podless())
	left := 0
	if err := ns.Do(func() error {
		h, err := netlink.NewHandle(unix.NETLINK_XFRM)
		if err != nil {
			return err
		}
		defer h.Close()
		states, err := h.XfrmStateList(netlink.FAMILY_ALL)
		if err != nil {
			return err
		}
		policies, err := h.XfrmPolicyList(netlink.FAMILY_ALL)
		left = len(states) + len(policies)
		return err
	}); err != nil || left > 0 {
		t.Errorf("%d are left: %v", left, err)
	}
}
