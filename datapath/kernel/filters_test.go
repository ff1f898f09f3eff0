//go:build linux

package kernel

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// requires skips a test that needs a feature which this kernel lacks.
func requires(t testing.TB, needed ...feature.Feature) {
	t.Helper()
	missing := features.Missing(context.Background(), needed)
	for _, f := range needed {
		if err := missing[f]; err != nil {
			t.Skipf("this kernel lacks %s: %v", f, err)
		}
	}
}

// allSets has every type of set, one of them longer than a message.
func allSets() []ipset.Set {
	one, two := pfx("10.96.0.1/32"), pfx("fd00::1/128")
	long := ipset.Set{Name: "LONG", Type: ipset.HashIPPort}
	for i := range 1000 {
		long.Entries = append(long.Entries, ipset.Entry{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 97, byte(i >> 8), byte(i)}), 32), Proto: "tcp", Port: 80})
	}
	sets := []ipset.Set{long,
		{Name: "IP", Type: ipset.HashIP, Entries: []ipset.Entry{{Prefix: one}}},
		{Name: "IP6", Type: ipset.HashIP, IPv6: true, Entries: []ipset.Entry{{Prefix: two}}},
		{Name: "NET", Type: ipset.HashNet, Entries: []ipset.Entry{{Prefix: one}, {Prefix: pfx("10.0.0.0/8")}, {Prefix: pfx("10.244.0.0/16")}}},
		{Name: "NET6", Type: ipset.HashNet, IPv6: true, Entries: []ipset.Entry{{Prefix: pfx("fd00::/64")}}},
		{Name: "IPPORT", Type: ipset.HashIPPort, Entries: []ipset.Entry{{Prefix: one, Proto: "tcp", Port: 80}, {Prefix: one, Proto: "udp", Port: 53}, {Prefix: one, Proto: "sctp", Port: 9}}},
		{Name: "NETPORT", Type: ipset.HashNetPort, Entries: []ipset.Entry{{Prefix: pfx("10.0.0.0/8"), Proto: "tcp", Port: 80}}},
		{Name: "IPPORTIP", Type: ipset.HashIPPortIP, Entries: []ipset.Entry{{Prefix: one, Proto: "tcp", Port: 80, Second: one}}},
		{Name: "IPPORTNET", Type: ipset.HashIPPortNet, Entries: []ipset.Entry{{Prefix: one, Proto: "tcp", Port: 80, Second: pfx("192.0.2.0/24")}, {Prefix: one, Proto: "tcp", Port: 80, Second: one}}},
		{Name: "IPPORTNET6", Type: ipset.HashIPPortNet, IPv6: true, Entries: []ipset.Entry{{Prefix: two, Proto: "udp", Port: 80, Second: pfx("fd00:1::/64")}}},
		{Name: "PORT", Type: ipset.BitmapPort, Entries: []ipset.Entry{{Port: 30080}, {Port: 65535}, {Port: 1}}},
		{Name: "EMPTY", Type: ipset.HashIP},
	}
	return sets
}

// asked is small with a node that has sets, a rule that matches one of them, a local
// address without a device, and a rate-limited uplink.
func asked() *plan.Plan {
	p := small()
	n1 := &p.Netns[1]
	n1.Sets = allSets()
	chain := &n1.Tables[0].Chains[1]
	chain.Rules = append(chain.Rules, iptables.Rule{Matches: []iptables.Match{iptables.MatchSet{Set: "IPPORT", Parts: "dst,dst"}}, Target: iptables.Return{}})
	n1.Routes = append(n1.Routes, plan.Route{To: pfx("10.96.0.1/32"), Dev: "lo", Local: true})
	n1.Qdiscs = []plan.Qdisc{{Link: "eth0", Rate: 10_000_000}}
	p.Sort()
	return p
}

func mustApply(t *testing.T, k *Kernel, want *plan.Plan) plan.Changes {
	t.Helper()
	changes, err := k.Apply(context.Background(), want)
	if err != nil {
		t.Fatal(err)
	}
	noDrift(t, k, want)
	return changes
}

func noDrift(t *testing.T, k *Kernel, want *plan.Plan) {
	t.Helper()
	have, err := k.Read(context.Background(), want)
	if err != nil {
		t.Fatal(err)
	}
	if drift := plan.Drift(have, want); len(drift) != 0 {
		t.Errorf("drift:\n%s", strings.Join(drift, "\n"))
	}
}

// output runs a program in a namespace of the lab.
func output(t *testing.T, k *Kernel, name string, argv ...string) string {
	t.Helper()
	ns, err := k.Namespace(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(ns, exec.Command(argv[0], argv[1:]...))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestFiltersAreAppliedAndReadBack(t *testing.T) {
	k := applied(t, asked())
	noDrift(t, k, asked())
	if again := mustApply(t, k, asked()); !again.Empty() {
		t.Errorf("the second apply changed %s", again.Summary())
	}
	if got := output(t, k, "node.n1", "ipset", "save", "IPPORTNET"); !strings.Contains(got, "add IPPORTNET 10.96.0.1,tcp:80,192.0.2.0/24\n") {
		t.Errorf("ipset save prints\n%s", got)
	}
	if got := output(t, k, "node.n1", "tc", "qdisc", "show", "dev", "eth0"); !strings.Contains(got, "tbf 1: root refcnt 2 rate 10Mbit burst 12500b lat 50ms") {
		t.Errorf("tc prints\n%s", got)
	}
	if got := output(t, k, "node.n1", "ip", "route", "get", "10.96.0.1"); !strings.Contains(got, "local 10.96.0.1 dev lo") {
		t.Errorf("ip route get prints\n%s", got)
	}
	none := mustApply(t, k, small())
	if none.Empty() || output(t, k, "node.n1", "ipset", "save") != "" {
		t.Errorf("sets are left, %s", none.Summary())
	}
}

// Every change of the filters, one after the other, and reverted.
func TestFiltersChangeInPlace(t *testing.T) {
	set := func(p *plan.Plan, name string) *ipset.Set {
		sets := p.Netns[1].Sets
		return &sets[slices.IndexFunc(sets, func(s ipset.Set) bool { return s.Name == name })]
	}
	k := applied(t, asked())
	for name, change := range map[string]func(*plan.Plan){
		"a few members": func(p *plan.Plan) {
			s := set(p, "LONG")
			s.Entries = append(s.Entries[5:], ipset.Entry{Prefix: pfx("10.99.0.1/32"), Proto: "udp", Port: 1})
		},
		"all members": func(p *plan.Plan) { set(p, "PORT").Entries = []ipset.Entry{{Port: 7}} },
		"a set with a rule": func(p *plan.Plan) {
			set(p, "IPPORT").Name = "OTHER"
			p.Netns[1].Tables[0].Chains[1].Rules[1].Matches = []iptables.Match{iptables.MatchSet{Set: "OTHER", Parts: "dst,dst"}}
		},
		"the type of a set that a rule matches": func(p *plan.Plan) {
			s := set(p, "IPPORT")
			s.Type, s.Entries = ipset.HashNetPort, []ipset.Entry{{Prefix: pfx("10.96.0.0/16"), Proto: "tcp", Port: 80}}
		},
		"the rate":              func(p *plan.Plan) { p.Netns[1].Qdiscs[0].Rate = 1_000_000 },
		"a rate above 32 bits":  func(p *plan.Plan) { p.Netns[1].Qdiscs[0].Rate = 80_000_000_000 },
		"no rate":               func(p *plan.Plan) { p.Netns[1].Qdiscs = nil },
		"another local address": func(p *plan.Plan) { p.Netns[1].Routes[len(p.Netns[1].Routes)-1].To = pfx("10.96.0.7/32") },
	} {
		want := asked()
		change(want)
		want.Sort()
		for _, p := range []*plan.Plan{want, asked()} {
			if c := mustApply(t, k, p); c.Empty() {
				t.Errorf("%s: nothing changed", name)
			}
			if again := mustApply(t, k, p); !again.Empty() {
				t.Errorf("%s: the second apply changed %s", name, strings.Join(again.Lines(), "\n"))
			}
		}
	}
}

func TestDamagedFiltersAreDriftAndRepaired(t *testing.T) {
	k := applied(t, asked())
	for _, row := range []struct{ command, drift string }{
		{"ipset add IP 10.9.9.9", "node.n1: set IP: member 10.9.9.9 not in the plan"},
		{"ipset del NET 10.0.0.0/8", "node.n1: set NET: member 10.0.0.0/8 missing"},
		{"ipset flush LONG", "node.n1: set LONG: 990 members more missing"},
		{"ipset destroy EMPTY", "node.n1: set EMPTY (hash:ip family inet) missing"},
		{"ipset create MINE hash:ip", "node.n1: set MINE (hash:ip family inet) not in the plan"},
		{"tc qdisc del dev eth0 root", "node.n1: qdisc dev eth0 root handle 1: tbf rate 10000000bit burst 12500b limit 75000b missing"},
		{"tc qdisc add dev cni0 root tbf rate 1mbit burst 5000 limit 5000", "node.n1: qdisc dev cni0 root handle 1: tbf rate 1000000bit burst 3200b limit 9450b not in the plan"},
		{"ip route del local 10.96.0.1", "node.n1: route local 10.96.0.1/32 dev lo missing"},
		{"ip route add local 10.96.0.9 dev lo", "node.n1: route local 10.96.0.9/32 dev lo not in the plan"},
	} {
		output(t, k, "node.n1", strings.Fields(row.command)...)
		have, err := k.Read(context.Background(), asked())
		if err != nil {
			t.Fatal(err)
		}
		if drift := plan.Drift(have, asked()); !slices.Contains(drift, row.drift) {
			t.Errorf("after %s: drift\n%s\nwant\n%s", row.command, strings.Join(drift, "\n"), row.drift)
		}
		mustApply(t, k, asked())
	}
}

// tracked lists the pings that node n1 tracks.
func tracked(t *testing.T, k *Kernel) []*netlink.ConntrackFlow {
	t.Helper()
	var flows []*netlink.ConntrackFlow
	in(t, k, "node.n1", func(h *netlink.Handle) (err error) {
		flows, err = h.ConntrackTableList(netlink.ConntrackTable, unix.AF_INET)
		return err
	})
	return slices.DeleteFunc(flows, func(f *netlink.ConntrackFlow) bool { return f.Forward.Protocol != unix.IPPROTO_ICMP })
}

// A ping from the underlay to the pod leaves an entry on the pod's node, which is
// deleted when the rules change and a cut denies it, and stays when the cut allows it.
func TestCutsEndConnectionsWhenRulesChange(t *testing.T) {
	requires(t, feature.Conntrack)
	k := applied(t, small())
	allowed := false
	change := func(p *plan.Plan) {
		n1 := &p.Netns[1]
		n1.Cut = []conntrack.Cut{{Pod: ip("10.244.11.2"), Ingress: true}}
		if allowed {
			n1.Cut[0].Allow = []conntrack.Allow{{Peer: []netip.Prefix{pfx("192.168.0.0/24")}}}
		}
		c := &n1.Tables[0].Chains[1]
		c.Rules = append(c.Rules, iptables.Rule{Matches: []iptables.Match{iptables.Comment{Text: fmt.Sprint(allowed)}}, Target: iptables.Return{}})
	}
	output(t, k, "underlay", "ip", "route", "add", "10.244.11.0/24", "via", "192.168.0.11")
	output(t, k, "underlay", "ping", "-c1", "-W5", "10.244.11.2")
	if len(tracked(t, k)) == 0 {
		t.Fatal("the ping is not tracked")
	}
	for _, allowed = range []bool{true, false} {
		want := small()
		change(want)
		if _, err := k.Apply(context.Background(), want); err != nil {
			t.Fatal(err)
		}
		if flows := tracked(t, k); (len(flows) > 0) != allowed {
			t.Errorf("allowed %v: tracked: %v", allowed, flows)
		}
		output(t, k, "underlay", "ip", "route", "replace", "10.244.11.0/24", "via", "192.168.0.11")
	}
}

func BenchmarkSets(b *testing.B) {
	for _, members := range []int{1000, 10_000} {
		p := &plan.Plan{Netns: []plan.Netns{{Name: "node.a", Kind: plan.Node, Sets: []ipset.Set{{Name: "S", Type: ipset.HashIPPort}}}}}
		s := &p.Netns[0].Sets[0]
		for i := range members {
			s.Entries = append(s.Entries, ipset.Entry{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 97, byte(i >> 8), byte(i)}), 32), Proto: "tcp", Port: 80})
		}
		benchApply(b, fmt.Sprintf("%d members", members), p, func(p *plan.Plan) {
			s := &p.Netns[0].Sets[0]
			s.Entries = s.Entries[1:]
		})
	}
}

// benchApply measures building a plan from nothing, changing it once, and reading it.
func benchApply(b *testing.B, name string, p *plan.Plan, change func(*plan.Plan)) {
	b.Run(name, func(b *testing.B) {
		var load, read, edit time.Duration
		for b.Loop() {
			k := New(Hooks{})
			start := time.Now()
			if _, err := k.Apply(context.Background(), p); err != nil {
				b.Fatal(err)
			}
			load += time.Since(start)
			start = time.Now()
			if _, err := k.Read(context.Background(), p); err != nil {
				b.Fatal(err)
			}
			read += time.Since(start)
			changed := &plan.Plan{Netns: []plan.Netns{p.Netns[0]}}
			changed.Netns[0].Sets = slices.Clone(p.Netns[0].Sets)
			changed.Netns[0].Virtual = slices.Clone(p.Netns[0].Virtual)
			change(changed)
			start = time.Now()
			if _, err := k.Apply(context.Background(), changed); err != nil {
				b.Fatal(err)
			}
			edit += time.Since(start)
			k.Close("")
		}
		for unit, d := range map[string]time.Duration{"load-ms": load, "read-ms": read, "edit-ms": edit} {
			b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), unit)
		}
	})
}
