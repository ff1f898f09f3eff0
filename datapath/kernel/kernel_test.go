//go:build linux

package kernel

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/netlab/netlab/datapath/kernel/xtables"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// small is a lab that touches every kind of item:
//
//	pod.a ── va ─ cni0 [node.n1] eth0 ── n1 ─ br0 [underlay] ─ n2 ── eth0 [node.n2]
func small() *plan.Plan {
	p := &plan.Plan{Lab: "small", Netns: []plan.Netns{
		{Name: "underlay", Kind: plan.Underlay,
			Links: []plan.Link{
				{Name: "br0", Type: plan.Bridge, MTU: 1500, MAC: mac(1)},
				{Name: "n1", Type: plan.Veth, MTU: 1500, MAC: mac(2), Master: "br0", Peer: plan.Peer{Netns: "node.n1", Link: "eth0"}},
				{Name: "n2", Type: plan.Veth, MTU: 1500, MAC: mac(3), Master: "br0", Peer: plan.Peer{Netns: "node.n2", Link: "eth0"}},
			},
			Addrs: []plan.Addr{{Link: "br0", Prefix: pfx("192.168.0.1/24")}}},
		node("n1", 11, 4, 5), node("n2", 12, 5, 4),
	}}
	n1 := &p.Netns[1]
	n1.Links = append(n1.Links, plan.Link{Name: "va", Type: plan.Veth, MTU: 1450, MAC: mac(20), Master: "cni0", Hairpin: true,
		Peer: plan.Peer{Netns: "pod.a", Link: "eth0"}})
	p.Netns = append(p.Netns, plan.Netns{Name: "pod.a", Kind: plan.Pod,
		Links:  []plan.Link{{Name: "eth0", Type: plan.Veth, MTU: 1450, MAC: mac(21), Peer: plan.Peer{Netns: "node.n1", Link: "va"}}},
		Addrs:  []plan.Addr{{Link: "eth0", Prefix: pfx("10.244.11.2/24")}},
		Routes: []plan.Route{{To: pfx("0.0.0.0/0"), Via: ip("10.244.11.1"), Dev: "eth0"}},
		Agents: []occupant.Agent{{Name: "a", Node: "n1", Listen: []occupant.Listen{{Protocol: "tcp", Port: 80}}}},
	})
	p.Sort()
	return p
}

func node(name string, host int, vtep, otherVTEP byte) plan.Netns {
	other := 23 - host
	via := fmt.Sprintf("10.244.%d.0", other)
	return plan.Netns{Name: "node." + name, Kind: plan.Node,
		Links: []plan.Link{
			{Name: "eth0", Type: plan.Veth, MTU: 1500, MAC: mac(byte(host)), Peer: plan.Peer{Netns: "underlay", Link: name}},
			{Name: "cni0", Type: plan.Bridge, MTU: 1450, MAC: mac(byte(host + 100))},
			{Name: "flannel.1", Type: plan.VXLAN, MTU: 1450, MAC: mac(vtep), VXLAN: plan.VXLANAttrs{ID: 1, Port: 8472,
				Local: ip(fmt.Sprintf("192.168.0.%d", host)), Dev: "eth0"}},
		},
		Addrs: []plan.Addr{
			{Link: "eth0", Prefix: pfx(fmt.Sprintf("192.168.0.%d/24", host))},
			{Link: "cni0", Prefix: pfx(fmt.Sprintf("10.244.%d.1/24", host))},
			{Link: "flannel.1", Prefix: pfx(fmt.Sprintf("10.244.%d.0/32", host))},
		},
		Routes: []plan.Route{
			{To: pfx("0.0.0.0/0"), Via: ip("192.168.0.1"), Dev: "eth0"},
			{To: pfx(via + "/24"), Via: ip(via), Dev: "flannel.1", OnLink: true},
		},
		Neighs:  []plan.Neigh{{Link: "flannel.1", Addr: ip(via), MAC: mac(otherVTEP)}},
		FDB:     []plan.FDB{{Link: "flannel.1", MAC: mac(otherVTEP), Dst: ip(fmt.Sprintf("192.168.0.%d", other))}},
		Sysctls: []plan.Sysctl{{Key: "net.ipv4.ip_forward", Value: "1"}, {Key: "net.ipv4.conf.cni0.rp_filter", Value: "0"}},
		Tables: []iptables.Table{{Name: "nat", Chains: []iptables.Chain{
			{Name: "POSTROUTING", Policy: "ACCEPT", Rules: []iptables.Rule{
				{Matches: []iptables.Match{iptables.Comment{Text: "to the test"}}, Target: iptables.Jump{Chain: "TEST"}}}},
			{Name: "TEST", Rules: []iptables.Rule{{Matches: []iptables.Match{iptables.Src{Prefix: pfx("10.244.0.0/16")}, iptables.Dst{Prefix: pfx("10.244.0.0/16"), Not: true}},
				Target: iptables.Masquerade{RandomFully: true}}}},
		}}},
	}
}

func mac(b byte) [6]byte        { return [6]byte{2, 0, 0, 0, 0, b} }
func pfx(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func ip(s string) netip.Addr    { return netip.MustParseAddr(s) }

// agents stands in for the engine: it records which agents should run where.
type agents map[string][]occupant.Agent

func (a agents) hooks() Hooks {
	return Hooks{
		Enter: func(_ netns.Here, name string, add, remove plan.Netns) error {
			a[name] = slices.DeleteFunc(a[name], func(x occupant.Agent) bool {
				return slices.ContainsFunc(remove.Agents, func(y occupant.Agent) bool { return x.Name == y.Name })
			})
			a[name] = append(a[name], add.Agents...)
			return nil
		},
		Leave:   func(name string, _ *netns.NS) { delete(a, name) },
		Running: func(name string, n *plan.Netns) { n.Agents = a[name] },
	}
}

func applied(t *testing.T, p *plan.Plan) *Kernel {
	t.Helper()
	k := New(agents{}.hooks())
	t.Cleanup(func() { k.Close("") })
	if _, err := k.Apply(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	return k
}

func run(ns *netns.NS, cmd *exec.Cmd) ([]byte, error) { return xtables.Run(ns, cmd) }

func in(t *testing.T, k *Kernel, name string, do func(*netlink.Handle) error) {
	t.Helper()
	ns, err := k.Namespace(name)
	if err != nil {
		t.Fatal(err)
	}
	err = ns.Do(func() error {
		h, err := netlink.NewHandle()
		if err != nil {
			return err
		}
		defer h.Close()
		return do(h)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMultipathRoutesAreReadBack(t *testing.T) {
	want := small()
	n1 := &want.Netns[1]
	n1.Routes = append(n1.Routes, plan.Route{To: pfx("203.0.113.9/32"), Via: ip("192.168.0.12"), More: []netip.Addr{ip("192.168.0.13")}, Dev: "eth0"})
	want.Sort()
	k := applied(t, want)
	for _, more := range [][]netip.Addr{{ip("192.168.0.13")}, {ip("192.168.0.13"), ip("192.168.0.14")}, nil} {
		for i := range n1.Routes {
			if n1.Routes[i].To == pfx("203.0.113.9/32") {
				n1.Routes[i].More = more
			}
		}
		if _, err := k.Apply(context.Background(), want); err != nil {
			t.Fatal(err)
		}
		have, err := k.Read(context.Background(), want)
		if err != nil {
			t.Fatal(err)
		}
		if drift := plan.Drift(have, want); len(drift) != 0 {
			t.Errorf("with %v: drift:\n%s", more, strings.Join(drift, "\n"))
		}
	}
}

func TestTypesAndProtocolsOfRoutesAreReadBack(t *testing.T) {
	want := small()
	n1 := &want.Netns[1]
	n1.IPv6 = true
	n1.Addrs = append(n1.Addrs, plan.Addr{Link: "eth0", Prefix: pfx("fd00::1/64")})
	four, six := pfx("203.0.113.0/24"), pfx("fd00:9::/64")
	rest := n1.Routes
	var k *Kernel
	for _, routes := range [][]plan.Route{
		{{To: four, Type: plan.Blackhole, Protocol: plan.Bird}, {To: six, Type: plan.Blackhole, Protocol: plan.Bird}},
		{{To: four, Type: plan.Unreachable}, {To: six, Type: plan.Unreachable}},
		{{To: four, Via: ip("192.168.0.12"), Dev: "eth0", Protocol: plan.Bird}, {To: six, Via: ip("fd00::2"), Dev: "eth0", Protocol: plan.Bird}},
		{{To: four, Via: ip("192.168.0.12"), Dev: "eth0"}, {To: six, Via: ip("fd00::2"), Dev: "eth0"}},
		{{To: four, Type: plan.Blackhole}, {To: six, Type: plan.Blackhole}},
		nil,
	} {
		n1.Routes = slices.Concat(rest, routes)
		want.Sort()
		if k == nil {
			k = applied(t, want)
		} else if _, err := k.Apply(context.Background(), want); err != nil {
			t.Fatal(err)
		}
		have, err := k.Read(context.Background(), want)
		if err != nil {
			t.Fatal(err)
		}
		if drift := plan.Drift(have, want); len(drift) != 0 {
			t.Errorf("with %+v: drift:\n%s", routes, strings.Join(drift, "\n"))
		}
	}
}

func TestWhatWasAppliedIsReadBack(t *testing.T) {
	want := small()
	k := applied(t, want)
	have, err := k.Read(context.Background(), want)
	if err != nil {
		t.Fatal(err)
	}
	if drift := plan.Drift(have, want); len(drift) != 0 {
		t.Errorf("drift right after apply:\n%s", strings.Join(drift, "\n"))
	}
}

func TestApplyingTwiceChangesNothing(t *testing.T) {
	k := applied(t, small())
	changes, err := k.Apply(context.Background(), small())
	if err != nil || !changes.Empty() {
		t.Errorf("second apply: %v %s", err, strings.Join(changes.Lines(), "\n"))
	}
}

func TestApplyRestoresWhatWasRemoved(t *testing.T) {
	for name, damage := range map[string]func(*netlink.Handle) error{
		"a route":              delRoute,
		"a veth":               delLink("va"),
		"the uplink":           delLink("eth0"),
		"the bridge":           delLink("cni0"),
		"the tunnel":           delLink("flannel.1"),
		"the state of a link":  func(h *netlink.Handle) error { return h.LinkSetDown(mustLink(h, "cni0")) },
		"the MTU":              func(h *netlink.Handle) error { return h.LinkSetMTU(mustLink(h, "cni0"), 1400) },
		"hairpin of a port":    func(h *netlink.Handle) error { return h.LinkSetHairpin(mustLink(h, "va"), false) },
		"a port of the bridge": func(h *netlink.Handle) error { return h.LinkSetNoMaster(mustLink(h, "va")) },
		"nothing, but adds an address": func(h *netlink.Handle) error {
			return h.AddrAdd(mustLink(h, "cni0"), &netlink.Addr{IPNet: netlink.NewIPNet([]byte{10, 9, 9, 9})})
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := applied(t, small())
			in(t, k, "node.n1", damage)
			changes, err := k.Apply(context.Background(), small())
			if err != nil {
				t.Fatalf("repair: %v\n%s", err, strings.Join(changes.Lines(), "\n"))
			}
			if changes.Empty() {
				t.Error("the damage was not detected")
			}
			again, err := k.Apply(context.Background(), small())
			if err != nil || !again.Empty() {
				t.Errorf("after the repair: %v %s", err, strings.Join(again.Lines(), "\n"))
			}
		})
	}
}

func delRoute(h *netlink.Handle) error {
	_, to, _ := net.ParseCIDR("10.244.12.0/24")
	return h.RouteDel(&netlink.Route{Dst: to})
}

func delLink(name string) func(*netlink.Handle) error {
	return func(h *netlink.Handle) error { return h.LinkDel(mustLink(h, name)) }
}

func mustLink(h *netlink.Handle, name string) netlink.Link {
	l, err := h.LinkByName(name)
	if err != nil {
		panic(err)
	}
	return l
}

func TestRemovingNamespacesRemovesTheirLinks(t *testing.T) {
	k := applied(t, small())
	want := small()
	want.Netns = slices.DeleteFunc(want.Netns, func(n plan.Netns) bool { return n.Name == "pod.a" })
	n1 := &want.Netns[1]
	n1.Links = slices.DeleteFunc(n1.Links, func(l plan.Link) bool { return l.Name == "va" })
	changes, err := k.Apply(context.Background(), want)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes.Remove) != 1 {
		t.Errorf("removed %v, want pod.a", changes.Remove)
	}
	in(t, k, "node.n1", func(h *netlink.Handle) error {
		if _, err := h.LinkByName("va"); err == nil {
			t.Error("va is still there")
		}
		return nil
	})
}

// The kernel gives a bridge the MTU of its ports, and 1500 without ports, unless it was
// set explicitly.
func TestABridgeKeepsItsMTUWithoutPorts(t *testing.T) {
	k := applied(t, small())
	in(t, k, "node.n1", delLink("va"))
	in(t, k, "node.n1", func(h *netlink.Handle) error {
		if mtu := mustLink(h, "cni0").Attrs().MTU; mtu != 1450 {
			t.Errorf("without a port, cni0 has MTU %d, want 1450", mtu)
		}
		return nil
	})
}

func TestAPodMovesToAnotherNode(t *testing.T) {
	k := applied(t, small())
	want := small()
	n1, n2, pod := &want.Netns[1], &want.Netns[2], &want.Netns[3]
	if n2.Name != "node.n2" || pod.Name != "pod.a" {
		t.Fatalf("unexpected order: %s %s", n2.Name, pod.Name)
	}
	va := n1.Links[len(n1.Links)-1]
	n1.Links = n1.Links[:len(n1.Links)-1]
	n2.Links = append(n2.Links, va)
	pod.Links[0].Peer.Netns = "node.n2"
	pod.Addrs[0].Prefix = pfx("10.244.12.2/24")
	pod.Routes[0].Via = ip("10.244.12.1")
	if _, err := k.Apply(context.Background(), want); err != nil {
		t.Fatal(err)
	}
	again, err := k.Apply(context.Background(), want)
	if err != nil || !again.Empty() {
		t.Errorf("after the move: %v %s", err, strings.Join(again.Lines(), "\n"))
	}
}

func TestRefusedRulesNameTheLine(t *testing.T) {
	p := small()
	chain := &p.Netns[1].Tables[0].Chains[1]
	chain.Rules = append(chain.Rules, iptables.Rule{Target: iptables.Jump{Chain: "NOWHERE"}})
	k := New(Hooks{})
	t.Cleanup(func() { k.Close("") })
	_, err := k.Apply(context.Background(), p)
	if err == nil || !strings.Contains(err.Error(), "node.n1: iptables-restore") || !strings.Contains(err.Error(), "NOWHERE") {
		t.Errorf("got %v, want the namespace, the program and the line", err)
	}
}

func TestRulesChangedByHandAreRepairedByTheNextApply(t *testing.T) {
	k := applied(t, small())
	for _, damage := range []string{"-A TEST -j RETURN", "-F TEST", "-P FORWARD DROP"} {
		ns, err := k.Namespace("node.n1")
		if err != nil {
			t.Fatal(err)
		}
		args := append([]string{"-t", "nat"}, strings.Fields(damage)...)
		if strings.HasPrefix(damage, "-P") {
			args = strings.Fields(damage)
		}
		if out, err := run(ns, exec.Command("iptables", args...)); err != nil {
			t.Fatal(err, string(out))
		}
		changes, err := k.Apply(context.Background(), small())
		if err != nil || changes.Empty() {
			t.Errorf("after iptables %s: %v, changes %q", damage, err, changes.Summary())
		}
		again, err := k.Apply(context.Background(), small())
		if err != nil || !again.Empty() {
			t.Errorf("after the repair: %v %s", err, strings.Join(again.Lines(), "\n"))
		}
	}
}
