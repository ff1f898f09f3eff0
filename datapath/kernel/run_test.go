//go:build linux

package kernel

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// follower makes a lab, and returns it with a function that applies the next plan to it and
// compares the steps carried out with those that the plan prints: the same commands, in the
// same order.
func follower(t *testing.T) (*Kernel, func(name string, want *plan.Plan)) {
	k := New(agents{}.hooks())
	t.Cleanup(func() { k.Close("") })
	var done []plan.Step
	var last *plan.Step
	k.record = func(s *plan.Step) { // once for all messages of a step
		if s != last {
			done, last = append(done, *s), s
		}
	}
	return k, func(name string, want *plan.Plan) {
		t.Helper()
		done = nil
		changes, err := k.Apply(context.Background(), want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if changes.Empty() {
			t.Errorf("%s: nothing changed", name)
		}
		got, printed := plan.Lines(done), changes.Lines()
		if !slices.Equal(got, printed) {
			t.Errorf("%s: carried out\n%s\nprinted\n%s", name, strings.Join(got, "\n"), strings.Join(printed, "\n"))
		}
	}
}

func TestPrintedStepsOfVirtualServersAreCarriedOut(t *testing.T) {
	requiresIPVS(t)
	_, follow := follower(t)
	follow("from nothing", everyVirtual())
	p := everyVirtual()
	n1 := find(p, "node.n1")
	n1.Virtual[0].Real = n1.Virtual[0].Real[:1]
	n1.Virtual[1].Persistent = 60
	n1.Qdiscs = []plan.Qdisc{{Link: "eth0", Rate: 10_000_000}}
	follow("a real server, persistence, a qdisc", p)
	follow("less", balanced())
	follow("none", small())
}

func TestPrintedStepsAreCarriedOut(t *testing.T) {
	k, follow := follower(t)
	follow("from nothing", small())

	p := small()
	n1 := find(p, "node.n1")
	n1.Sysctls = append(n1.Sysctls, plan.Sysctl{Key: "net.ipv4.conf.eth0.rp_filter", Value: "2"}, plan.Sysctl{Key: "net.ipv4.conf.all.log_martians", Value: "1"})
	n1.Routes = append(n1.Routes, plan.Route{To: pfx("10.9.0.0/16"), Via: ip("192.168.0.12"), Dev: "eth0"})
	n1.Neighs[0].MAC = mac(77)
	n1.Sets = []ipset.Set{{Name: "some", Type: ipset.HashIP, Entries: []ipset.Entry{{Prefix: pfx("10.1.1.1/32")}}}}
	n1.UDP = []conntrack.UDPService{{NodePort: 30053, Endpoints: nil}}
	find(p, "pod.a").Agents[0].Listen[0].Port = 81
	p.Sort()
	follow("items", p)

	p = small()
	find(p, "node.n1").Sets = []ipset.Set{{Name: "some", Type: ipset.HashNet, Entries: []ipset.Entry{{Prefix: pfx("10.1.0.0/16")}}}}
	find(p, "node.n1").NFT = []nft.Table{{Family: "inet", Name: "t", Chains: []nft.Chain{{Name: "c"}}}}
	p.Sort()
	follow("reverted, with a set of another type", p)

	follow("less", small())

	p = small()
	find(p, "node.n1").Links = slices.DeleteFunc(find(p, "node.n1").Links, func(l plan.Link) bool { return l.Name == "va" })
	p.Netns = slices.DeleteFunc(p.Netns, func(n plan.Netns) bool { return n.Name == "pod.a" })
	follow("a pod is removed", p)
	follow("a pod is added", small())

	in(t, k, "node.n1", func(h *netlink.Handle) error { return h.LinkSetDown(mustLink(h, "va")) })
	follow("a link is set up", small())
	in(t, k, "node.n1", delLink("eth0"))
	follow("the uplink is recreated", small())
}

func find(p *plan.Plan, name string) *plan.Netns {
	i := slices.IndexFunc(p.Netns, func(n plan.Netns) bool { return n.Name == name })
	return &p.Netns[i]
}

// A setting of IPVS that is not there is hidden, and the error says from whom; others are just not
// there.
func TestSettingsOfIPVSAreHidden(t *testing.T) {
	missing := &os.PathError{Op: "open", Path: "x", Err: unix.ENOENT}
	for key, want := range map[string]bool{"net.ipv4.vs.conntrack": true, "net.ipv4.nothing": false} {
		if err := explained(plan.Sysctl{Key: key}, missing); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "--allow-host-programs") != want {
			t.Errorf("%s: %v", key, err)
		}
	}
}
