package policytest

import (
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// Connections to y/b on node1 that are there before policies are, of both protocols and
// by every way: from its own node (x/a, x/c) and another (x/b, y/a, y/c), by the address
// of the pod and by that of its service; from outside by the node port of both nodes.
//
// First a policy comes that denies those of x/a and x/b, and what outside sends by way
// of node2, which is node2 there. Then egress policies deny those of x/c and y/a, and
// ingress is for node2 in place of outside: streams that ended stay so, datagrams come
// through again. y/c is allowed all the time.
type livePhase struct {
	name string
	say  []statement
	over []string // connections that the lab ends where it ends any, now or before
}

func livePhases(r *room) []livePhase {
	from := func(e string) item {
		if e == "node2" {
			return func(_ *room, rule *topology.PolicyRuleSpec) {
				a := r.egress(2, 1)
				rule.Peers = append(rule.Peers, topology.PeerSpec{Block: set(netip.PrefixFrom(a, a.BitLen()))})
			}
		}
		return block(e)
	}
	ingress := func(outside string) statement {
		return policy("y", "pod=b", types("Ingress"), in(both("ns=x", "pod=c")), in(pods("")), in(from(outside)))
	}
	return []livePhase{
		{"the first policy", []statement{ingress("outside")}, []string{"x/a", "x/b", "outside by node2"}},
		{"others", []statement{ingress("node2"), policy("x", "pod=c", types("Egress")), policy("y", "pod=a", types("Egress"), out(ports("99")))},
			[]string{"x/a", "x/b", "x/c", "y/a", "outside by node1", "outside by node2, tcp"}},
	}
}

// way is a connection that is held.
type way struct {
	name string
	flow flow.Flow
}

// liveWays are the connections of somebody.
func (r *room) liveWays(from string) []way {
	var list []way
	add := func(name string, to netip.Addr, port uint16) {
		for _, p := range []flow.Protocol{flow.TCP, flow.UDP} {
			list = append(list, way{name, flow.Flow{From: r.ends[from].netns, To: netip.AddrPortFrom(to, port), Protocol: p}})
		}
	}
	if from == "outside" {
		for _, n := range []string{"node1", "node2"} {
			add("outside by "+n, r.ends[n].addr, 30080)
		}
		return list
	}
	i := slices.IndexFunc(r.base.Services, func(s *topology.Service) bool { return s.Name == "web" })
	add(from, r.ends["y/b"].addr, 80)
	add(from, pick(r.base.Services[i].ClusterIPs, r.IPv6), 8080)
	return list
}

// liveSetups are the labs in which changes are made.
func liveSetups(style string) []Setup {
	list := []Setup{
		{Name: "keep", Live: "keep", Mode: "vxlan", Deny: "drop"},
		{Name: "cut", Live: "cut", Mode: "host-gw", Deny: "drop"},
		{Name: "cut, reject", Live: "cut", Mode: "vxlan", Deny: "reject"},
		{Name: "cut, IPv6", Live: "cut", Mode: "vxlan", Deny: "drop", IPv6: true},
		{Name: "cut, IPVS", Live: "cut", Mode: "vxlan", Deny: "drop", Proxy: "ipvs"},
	}
	for i := range list {
		list[i].Style = style
	}
	return list
}

// Connections that are there when policies change stay, or end where the lab wants
// that and they are not allowed any more; new ones meet the policies in any case.
func TestLiveConnectionsWhenPoliciesChange(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, style := range datapath.Styles() {
		if style.Name() == "legacy" {
			continue
		}
		for _, s := range liveSetups(style.Name()) {
			t.Run(style.Name()+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				r, lab := enter(t, &s), start(t)
				before := r.judge(t, &Case{Name: "at first"}, s.planes(0)[:1])
				apply(t, lab, before.plan)
				kernel(t, lab, before.questions, r.rightEnds(before)) // until the links work
				h := r.holdAll(t, lab)
				h.compare(t, "at first", nil)
				for _, phase := range livePhases(r) {
					j := r.judge(t, &Case{Name: phase.name, Say: phase.say}, s.planes(0))
					apply(t, lab, j.plan)
					if s.Live != "cut" {
						phase.over = nil
					}
					h.compare(t, phase.name, phase.over)
					right := r.rightEnds(j)
					r.report(t, j, right, kernel(t, lab, j.questions, right))
				}
			})
		}
	}
}

// holders are the processes that hold the connections of everybody.
type holders struct {
	ways []([]way)
	list []*holder
}

func (r *room) holdAll(t *testing.T, lab *engine.Client) *holders {
	t.Helper()
	h := &holders{}
	for _, from := range []string{"x/a", "x/b", "x/c", "y/a", "y/c", "outside"} {
		ways := r.liveWays(from)
		var flows []flow.Flow
		for _, w := range ways {
			flows = append(flows, w.flow)
		}
		h.ways = append(h.ways, ways)
		h.list = append(h.list, startHolder(t, lab, r.ends[from].netns, flows))
	}
	return h
}

// compare asks on all connections, of which some shall be over: by name, or by name and
// protocol.
func (h *holders) compare(t *testing.T, when string, over []string) {
	t.Helper()
	var all sync.WaitGroup
	for k, holder := range h.list {
		all.Add(1)
		go func() {
			defer all.Done()
			var live []int
			for i, w := range h.ways[k] {
				if !slices.Contains(over, w.name) && !slices.Contains(over, w.name+", "+string(w.flow.Protocol)) {
					live = append(live, i)
				}
			}
			answers, err := holder.round(live)
			if err != nil {
				t.Errorf("%s: %v", when, err)
				return
			}
			for i, w := range h.ways[k] {
				if got, want := answers[i], slices.Contains(live, i); got != want {
					t.Errorf("%s: %s, %s to %s: lives %v, want %v", when, w.name, w.flow.Protocol, w.flow.To, got, want)
				}
			}
		}()
	}
	all.Wait()
}
