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

// Connections to y/b on node1 that exist before any policy, over both protocols and on
// every path: from its own node (x/a, x/c) and another (x/b, y/a, y/c), to the address
// of the pod and to that of its service; from outside via the node port of both nodes.
//
// First a policy denies those of x/a and x/b, and those of outside via node2, whose
// source there is node2. Then egress policies deny those of x/c and y/a, and ingress
// allows node2 instead of outside: closed streams stay closed, datagrams pass again.
// y/c is always allowed.
type livePhase struct {
	name string
	say  []statement
	over []string // connections that live = "cut" has cut by now
}

func livePhases(r *testLab) []livePhase {
	from := func(e string) item {
		if e == "node2" {
			return func(_ *testLab, rule *topology.PolicyRuleSpec) {
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

// heldFlow is a connection that is held open.
type heldFlow struct {
	name string
	flow flow.Flow
}

// liveFlows are the connections of one dialer.
func (r *testLab) liveFlows(from string) []heldFlow {
	var list []heldFlow
	add := func(name string, to netip.Addr, port uint16) {
		for _, p := range []flow.Protocol{flow.TCP, flow.UDP} {
			list = append(list, heldFlow{name, flow.Flow{From: r.ends[from].netns, To: netip.AddrPortFrom(to, port), Protocol: p}})
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
	add(from, topology.OfFamily(r.base.Services[i].ClusterIPs, r.IPv6), 8080)
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

// When policies change, existing connections stay, or with live = "cut" those no longer
// allowed end; new ones are always subject to the policies.
func TestLiveConnectionsWhenPoliciesChange(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for _, style := range datapath.Styles() {
		if !style.Conforms {
			continue
		}
		for _, s := range liveSetups(style.Name) {
			t.Run(style.Name+"/"+s.Name, func(t *testing.T) {
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

// holders are the processes that hold the connections of all dialers.
type holders struct {
	flows [][]heldFlow
	list  []*holder
}

func (r *testLab) holdAll(t *testing.T, lab *engine.Client) *holders {
	t.Helper()
	h := &holders{}
	for _, from := range []string{"x/a", "x/b", "x/c", "y/a", "y/c", "outside"} {
		held := r.liveFlows(from)
		var flows []flow.Flow
		for _, w := range held {
			flows = append(flows, w.flow)
		}
		h.flows = append(h.flows, held)
		h.list = append(h.list, startHolder(t, lab, r.ends[from].netns, flows))
	}
	return h
}

// compare sends a request on all connections; those in over, by name or by name and
// protocol, must be dead.
func (h *holders) compare(t *testing.T, when string, over []string) {
	t.Helper()
	var all sync.WaitGroup
	for k, holder := range h.list {
		all.Add(1)
		go func() {
			defer all.Done()
			var live []int
			for i, w := range h.flows[k] {
				if !slices.Contains(over, w.name) && !slices.Contains(over, w.name+", "+string(w.flow.Protocol)) {
					live = append(live, i)
				}
			}
			answers, err := holder.round(live)
			if err != nil {
				t.Errorf("%s: %v", when, err)
				return
			}
			for i, w := range h.flows[k] {
				if got, want := answers[i], slices.Contains(live, i); got != want {
					t.Errorf("%s: %s, %s to %s: lives %v, want %v", when, w.name, w.flow.Protocol, w.flow.To, got, want)
				}
			}
		}()
	}
	all.Wait()
}
