package walk_test

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// virtual makes the router of the rows balance a virtual address, held by a dummy, over
// some servers, given as address:port or address:port=weight.
func virtual(r *plan.Netns, addr, scheduler string, real ...string) *ipvs.Server {
	vip := addrPort(addr)
	if !slices.ContainsFunc(r.Links, func(l plan.Link) bool { return l.Type == plan.Dummy }) {
		r.Links = append(r.Links, plan.Link{Name: "kube-ipvs0", Type: plan.Dummy, MTU: 1500, MAC: [6]byte{0x1a, 0, 0, 0, 0, 1}})
	}
	if own := netip.PrefixFrom(vip.Addr(), 32); !slices.ContainsFunc(r.Addrs, func(a plan.Addr) bool { return a.Prefix.Addr() == vip.Addr() }) {
		r.Addrs = append(r.Addrs, plan.Addr{Link: "kube-ipvs0", Prefix: own})
	}
	setSysctl(r, "net.ipv4.vs.conntrack", "1")
	for _, proto := range []string{"tcp", "udp"} {
		s := ipvs.Server{Addr: vip, Proto: proto, Scheduler: scheduler}
		for _, text := range real {
			weight := 1
			text, w, _ := strings.Cut(text, "=")
			_, _ = fmt.Sscan(w, &weight)
			s.Real = append(s.Real, ipvs.Real{Addr: addrPort(text), Weight: weight})
		}
		r.Virtual = append(r.Virtual, s)
	}
	return &r.Virtual[len(r.Virtual)-2]
}

// virtualRows test IPVS on the router.
func virtualRows() []row {
	const vip, port81 = "10.9.9.9:80", "10.9.9.9:81"
	isTCP := iptables.Proto{Name: "tcp"}
	toB := func(_, r, _ *plan.Netns) { virtual(r, vip, "rr", "10.0.2.2:80") }
	with := func(changes ...func(a, r, b *plan.Netns)) func(a, r, b *plan.Netns) {
		return func(a, r, b *plan.Netns) {
			for _, c := range changes {
				c(a, r, b)
			}
		}
	}
	drop := func(chain string, matches ...iptables.Match) func(a, r, b *plan.Netns) {
		return func(_, r, _ *plan.Netns) { rules(r, "filter", chain, rule(iptables.Drop{}, matches...)) }
	}
	mark := func(matches ...iptables.Match) func(a, r, b *plan.Netns) {
		return func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.OrMark{Bits: 1}, matches...))
			rules(r, "nat", "OUTPUT", rule(iptables.OrMark{Bits: 1}, matches...))
			rules(r, "nat", "POSTROUTING", rule(iptables.Masquerade{}, iptables.Mark{Value: 1, Mask: 1}))
		}
	}
	toVIP := iptables.Dst{Prefix: netip.MustParsePrefix("10.9.9.9/32")}
	toReal := iptables.Dst{Prefix: netip.MustParsePrefix("10.0.2.2/32")}
	fromReal := iptables.Src{Prefix: netip.MustParsePrefix("10.0.2.2/32")}
	toNeighbour := iptables.Dst{Prefix: netip.MustParsePrefix("10.0.1.3/32")}
	neighbour := func(_, r, b *plan.Netns) {
		bridged(isTCP, iptables.DPort{Port: 1})(nil, r, b)
		virtual(r, vip, "rr", "10.0.1.3:80")
	}
	reject := func(with string, matches ...iptables.Match) func(a, r, b *plan.Netns) {
		return func(_, r, _ *plan.Netns) {
			setSysctl(r, "net.ipv4.icmp_ratelimit", "0")
			rules(r, "filter", "OUTPUT", rule(iptables.Reject{With: with}, matches...))
		}
	}
	return []row{
		{name: "a client keeps its address", change: toB, to: vip, want: "b from a"},
		{name: "a datagram", change: toB, to: vip, proto: flow.UDP, want: "b from a"},
		{name: "masquerade by a mark", change: with(toB, mark(toVIP)), to: vip, want: "b from 10.0.2.1"},
		{name: "a datagram masqueraded", change: with(toB, mark(toVIP)), to: vip, proto: flow.UDP, want: "b from 10.0.2.1"},
		{name: "masquerade needs connection tracking", change: with(toB, mark(toVIP), func(_, r, _ *plan.Netns) { setSysctl(r, "net.ipv4.vs.conntrack", "0") }), to: vip, want: "b from a"},
		{name: "a process of the router dials from the address itself", change: toB, from: "node.r", to: vip, want: "b from 10.9.9.9"},
		{name: "masqueraded", change: with(toB, mark(toVIP)), from: "node.r", to: vip, want: "b from 10.0.2.1"},
		{name: "the router itself is the real server", change: func(_, r, _ *plan.Netns) { virtual(r, port81, "rr", "10.0.2.1:80") }, to: port81, want: "r from a"},
		{name: "the router itself with a closed port", change: func(_, r, _ *plan.Netns) { virtual(r, port81, "rr", "10.0.2.1:99") }, to: port81, want: "refused"},
		{name: "also for itself", change: func(_, r, _ *plan.Netns) { virtual(r, port81, "rr", "10.0.2.1:80") }, from: "node.r", to: port81, want: "r from 10.9.9.9"},
		{name: "no real server", change: func(_, r, _ *plan.Netns) { virtual(r, vip, "rr") }, to: vip, want: "refused"},
		{name: "no real server, datagram", change: func(_, r, _ *plan.Netns) { virtual(r, vip, "rr") }, to: vip, proto: flow.UDP, want: "refused"},
		{name: "no real server, the router itself", change: func(_, r, _ *plan.Netns) { virtual(r, vip, "rr") }, from: "node.r", to: vip, want: "refused"},
		{name: "only a server of weight 0", change: func(_, r, _ *plan.Netns) { virtual(r, vip, "wrr", "10.0.2.2:80=0") }, to: vip, want: "refused"},
		{name: "no virtual server on that port", change: with(toB, func(_, r, _ *plan.Netns) { r.Agents = nil }), to: "10.9.9.9:88", want: "refused"},
		{name: "otherwise the router's own sockets", change: func(_, r, _ *plan.Netns) { virtual(r, port81, "rr", "10.0.2.2:80") }, to: vip, want: "r from a"},
		{name: "a closed port", change: func(_, r, _ *plan.Netns) { virtual(r, vip, "rr", "10.0.2.2:99") }, to: vip, want: "refused"},
		{name: "a closed port, datagram", change: func(_, r, _ *plan.Netns) { virtual(r, vip, "rr", "10.0.2.2:99") }, to: vip, proto: flow.UDP, want: "refused"},
		{name: "a closed port, datagram masqueraded", change: with(func(_, r, _ *plan.Netns) { virtual(r, vip, "rr", "10.0.2.2:99") }, mark(toVIP)), to: vip, proto: flow.UDP, want: "refused"},
		{name: "the filter at INPUT comes first", change: with(toB, drop("INPUT", toVIP)), to: vip, want: "timeout"},
		{name: "what IPVS sends leaves by OUTPUT", change: with(toB, drop("OUTPUT", toReal, iptables.OutIf{Name: "b"})), to: vip, want: "timeout"},
		{name: "what IPVS sends skips FORWARD", change: with(toB, drop("FORWARD", toReal)), to: vip, want: "b from a"},
		{name: "the reply passes FORWARD", change: with(toB, drop("FORWARD", fromReal)), to: vip, want: "timeout"},
		{name: "a process of the router: after IPVS at OUTPUT", change: with(toB, drop("OUTPUT", toReal)), from: "node.r", to: vip, want: "timeout"},
		{name: "a process of the router: the reply at INPUT", change: with(toB, drop("INPUT", fromReal)), from: "node.r", to: vip, want: "timeout"},
		{name: "matched by virtual server", change: with(toB, drop("OUTPUT", iptables.IPVS{Addr: netip.MustParseAddr("10.9.9.9"), Proto: "tcp", Port: 80})), to: vip, want: "timeout"},
		{name: "not matched by another virtual server", change: with(toB, drop("OUTPUT", iptables.IPVS{Addr: netip.MustParseAddr("10.9.9.9"), Proto: "tcp", Port: 81})), to: vip, want: "b from a"},
		{name: "not matched before IPVS", change: with(toB, drop("INPUT", iptables.IPVS{Addr: netip.MustParseAddr("10.9.9.9"), Proto: "tcp", Port: 80})), to: vip, want: "b from a"},
		{name: "refused behind IPVS", change: with(toB, reject("", toReal)), to: vip, want: "refused"},
		{name: "refused behind IPVS, masqueraded", change: with(toB, mark(toVIP), reject("", toReal)), to: vip, want: "refused"},
		{name: "a datagram refused behind IPVS", change: with(toB, reject("", toReal)), to: vip, proto: flow.UDP, want: "refused"},
		{name: "a reset behind IPVS, not from a bridge", change: with(toB, reject("tcp-reset", isTCP, toReal), func(_, r, _ *plan.Netns) {
			setSysctl(r, "net.bridge.bridge-nf-call-iptables", "0")
		}), to: vip, want: "refused"},
		{name: "refused behind IPVS, the router itself", change: with(toB, reject("", toReal)), from: "node.r", to: vip, want: "refused"},
		{name: "a reset behind IPVS, the router itself", change: with(toB, reject("tcp-reset", isTCP, toReal)), from: "node.r", to: vip, want: "refused"},
		{name: "refused behind IPVS, from a bridge", change: with(neighbour, reject("", toNeighbour)), to: vip, want: "refused"},
		{name: "a datagram refused behind IPVS, from a bridge", change: with(neighbour, reject("", toNeighbour)), to: vip, proto: flow.UDP, want: "refused"},
		{name: "a reset behind IPVS, from a bridge", change: with(neighbour, reject("tcp-reset", isTCP, toNeighbour)), to: vip, want: "timeout"},
		{name: "a neighbour's reply bypassing the router", change: with(func(_, r, b *plan.Netns) {
			bridged(isTCP, iptables.DPort{Port: 1})(nil, r, b)
			virtual(r, vip, "rr", "10.0.1.3:80")
			setSysctl(r, "net.bridge.bridge-nf-call-iptables", "0")
		}), to: vip, want: "timeout"},
		{name: "a neighbour's reply through the router's hooks", change: with(func(_, r, b *plan.Netns) {
			bridged(isTCP, iptables.DPort{Port: 1})(nil, r, b)
			virtual(r, vip, "rr", "10.0.1.3:80")
		}), to: vip, want: "b from a"},
		{name: "addresses as local routes", change: func(_, r, _ *plan.Netns) {
			virtual(r, vip, "rr", "10.0.2.2:80")
			r.Links, r.Addrs = r.Links[:len(r.Links)-1], r.Addrs[:len(r.Addrs)-1]
			r.Routes = append(r.Routes, plan.Route{To: netip.MustParsePrefix("10.9.9.9/32"), Dev: "lo", Local: true})
		}, to: vip, want: "b from a"},
		{name: "an address that is not local", change: func(_, r, _ *plan.Netns) {
			virtual(r, vip, "rr", "10.0.2.2:80")
			r.Links, r.Addrs = r.Links[:len(r.Links)-1], r.Addrs[:len(r.Addrs)-1]
			r.Routes = append(r.Routes, plan.Route{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.0.2.2"), Dev: "b"})
		}, to: vip, want: "timeout"}, // forwarding is off in b
		{name: "several", change: func(_, r, _ *plan.Netns) { virtual(r, vip, "rr", "10.0.2.1:80", "10.0.2.2:80") }, to: vip, want: "b from a, r from a"},
	}
}

func TestVirtualServers(t *testing.T) {
	for _, r := range virtualRows() {
		t.Run(r.name, r.check)
	}
}

// check walks the flow of a row on paper.
func (r row) check(t *testing.T) {
	got := walk.New(r.plan()).Walk(r.flow())
	var parts []string
	for _, e := range got.Results() {
		part := string(e.Value.Outcome)
		if e.Value.Outcome == flow.Connected {
			part = e.Value.Answer + " from " + strings.NewReplacer("10.0.1.2", "a").Replace(e.Value.Source.String())
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	if text := strings.Join(parts, ", "); text != r.want {
		t.Errorf("got %s, want %s\n%s", text, r.want, render.Text(got, render.Full))
	}
}

// The next server among servers of weights 3, 1 and 0.
func TestSchedulers(t *testing.T) {
	for _, row := range []struct {
		scheduler, flag string
		want            string
		stays           bool // a client stays on its server
		all             bool // all clients stay on the same
	}{
		{"rr", "", "b 50 %, r 50 %", false, false},
		{"lc", "", "b 50 %, r 50 %", false, false},
		{"nq", "", "b 50 %, r 50 %", false, false},
		{"ovf", "", "b 50 %, r 50 %", false, false},
		{"wrr", "", "b 75 %, r 25 %", false, false},
		{"wlc", "", "b 75 %, r 25 %", false, false},
		{"sed", "", "b 75 %, r 25 %", false, false},
		{"twos", "", "b 75 %, r 25 %", false, false},
		{"mh", "mh-port", "b 75 %, r 25 %", false, false},
		{"mh", "", "b 75 %, r 25 %", true, false},
		{"sh", "", "b 60 %, r 20 %, refused 20 %", true, false},
		{"dh", "", "b 33 %, r 33 %, refused 33 %", true, true},
		{"lblc", "", "b 75 %, r 25 %", true, true},
		{"lblcr", "", "b 75 %, r 25 %", true, true},
		{"fo", "", "b 100 %", true, true},
	} {
		t.Run(row.scheduler+row.flag, func(t *testing.T) {
			p := routed()
			s := virtual(&p.Netns[0], "10.9.9.9:80", row.scheduler, "10.0.2.2:80=3", "10.0.2.1:80=1", "10.0.2.7:80=0")
			if row.flag != "" {
				s.Flags = []string{row.flag}
			}
			p.Sort()
			w := walk.New(p)
			f := flow.Flow{From: "client.a", To: addrPort("10.9.9.9:80"), Protocol: flow.TCP}
			first := w.Walk(f)
			if got := shares(first); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
			for _, b := range first.Branches {
				again, other := w.WalkFrom(b.State, f), f
				if stays := len(again.Results()) == 1 && again.Results()[0].Value == b.Result; stays != row.stays && len(first.Results()) > 1 {
					t.Errorf("after %s: %s", b.Result, shares(again))
				}
				other.From = "client.b"
				if all := len(w.WalkFrom(b.State, other).Branches) == 1; all != row.all && len(first.Results()) > 1 {
					t.Errorf("after %s, another client: %s", b.Result, shares(w.WalkFrom(b.State, other)))
				}
			}
		})
	}
}

func shares(p trace.Prediction) string {
	var parts []string
	for _, e := range p.Results() {
		who := e.Value.Answer
		if who == "" {
			who = string(e.Value.Outcome)
		}
		parts = append(parts, fmt.Sprintf("%s %.0f %%", who, math.Floor(100*e.Probability+1e-9)))
	}
	return strings.Join(parts, ", ")
}

func TestPersistenceKeepsAClient(t *testing.T) {
	p := routed()
	virtual(&p.Netns[0], "10.9.9.9:80", "rr", "10.0.2.2:80", "10.0.2.1:80").Persistent = 60
	virtual(&p.Netns[0], "10.9.9.9:81", "rr", "10.0.2.2:80", "10.0.2.1:80").Persistent = 60
	p.Sort()
	w := walk.New(p)
	f := flow.Flow{From: "client.a", To: addrPort("10.9.9.9:80"), Protocol: flow.TCP}
	other := f
	other.To = addrPort("10.9.9.9:81")
	for _, b := range w.Walk(f).Branches {
		if !b.State.Remembers() {
			t.Errorf("%s is forgotten", b.Result)
		}
		for after, want := range map[time.Duration]int{0: 1, time.Minute: 1, 61 * time.Second: 2} {
			if again := w.WalkFrom(b.State.After(after), f); len(again.Results()) != want || want == 1 && again.Results()[0].Value != b.Result {
				t.Errorf("%v after %s: %v", after, b.Result, again.Results())
			}
		}
		// kube-proxy's affinity by rules is per service; here each address has its own.
		if again := w.WalkFrom(b.State, other); len(again.Results()) != 2 {
			t.Errorf("at another virtual server: %v", again.Results())
		}
	}
}
