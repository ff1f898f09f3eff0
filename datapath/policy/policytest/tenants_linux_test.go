package policytest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// tenant is a pod that is created and deleted. It has a slot, which is an address: the
// next tenant of the slot has the same address and another name.
type tenant struct {
	namespace, name, label string
	slot                   int
}

func (g *tenant) String() string { return g.namespace + "/" + g.name }

// The slots, two on each node.
const slots = 4

func slotNode(slot int) int { return 1 + slot%2 }

// churnLab is a lab whose tenants change.
type churnLab struct {
	*testLab
	random  *rand.Rand
	tenants [slots]*tenant
	served  int // tenants so far, for numbering their names
}

func (h *churnLab) addr(slot int) netip.Addr {
	last := byte(200 + slot)
	for _, cidr := range h.base.Nodes[slotNode(slot)-1].PodCIDRs {
		if cidr.Addr().Is6() == h.IPv6 {
			a := cidr.Masked().Addr().AsSlice()
			a[len(a)-1] = last
			out, _ := netip.AddrFromSlice(a)
			return out
		}
	}
	return netip.Addr{}
}

// change adds a tenant, removes one, or replaces one by another at the same address. It
// returns the slot.
func (h *churnLab) change() (slot int, what string) {
	slot = h.random.IntN(slots)
	old := h.tenants[slot]
	if old != nil && h.random.IntN(3) == 0 {
		h.tenants[slot] = nil
		return slot, fmt.Sprintf("%s is deleted", old)
	}
	h.served++
	pick := func(list string) string { return string(list[h.random.IntN(len(list))]) }
	g := &tenant{pick("xyz"), fmt.Sprintf("tenant%d", h.served), pick("abc"), slot}
	h.tenants[slot] = g
	if old == nil {
		return slot, fmt.Sprintf("%s is created, pod=%s", g, g.label)
	}
	return slot, fmt.Sprintf("%s, pod=%s, gets the address of %s, pod=%s", g, g.label, old, old.label)
}

// snapshot is the current lab: its plan, the questions about the tenants, and the right
// answers.
type snapshot struct {
	*judged
	right []flow.Result
	by    map[string]int // the index of each question, by "A to B"
}

func (h *churnLab) snapshot(t *testing.T, name string) *snapshot {
	t.Helper()
	say := pool()
	for i := range say {
		say[i] = named(say[i], fmt.Sprintf("pool%d", i))
	}
	names := order()
	for _, g := range h.tenants {
		if g == nil {
			continue
		}
		names = append(names, g.String())
		address := h.addr(g.slot)
		say = append(say, func(r *testLab, spec *topology.Spec) {
			spec.Pods = append(spec.Pods, topology.PodSpec{Block: g.name, Namespace: set(g.namespace), Address: set(address),
				Node: set(fmt.Sprintf("node%d", slotNode(g.slot))), Labels: map[string]string{"pod": g.label, "ns": g.namespace}, Ports: r.ports("")})
		})
	}
	c := &Case{Name: name, Say: say}
	spec, lab, p := h.open(t, c)
	r := &testLab{Setup: h.Setup, base: lab}
	r.ends = r.allEnds()
	out := &snapshot{judged: &judged{Case: c, lab: lab, plan: p}, by: map[string]int{}}
	j := &judge{spec}
	for _, from := range names {
		for _, to := range names {
			fixed := slices.Contains(order(), from) && slices.Contains(order(), to)
			if f, to := r.ends[from], r.ends[to]; f != to && (f.pod || to.pod) && (!fixed || f.node == 1) {
				q := r.question(f, to, plane{flow.TCP, 80})
				out.by[from+" to "+to.name] = len(out.questions)
				out.questions = append(out.questions, q)
				out.allowed = append(out.allowed, r.right(j, &q))
			}
		}
	}
	out.right = r.rightEnds(out.judged)
	return out
}

// A pod does not inherit what the last owner of its address was allowed: pods are
// created and deleted while connections are made continuously. Those of other pods are
// not affected. A new pod is closed until its policies are in force, and an old one
// stays closed until it is gone.
func TestPodsDoNotInheritFromTheirAddress(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	for k, style := range datapath.Styles() {
		if !style.Conforms {
			continue
		}
		t.Run(style.Name, func(t *testing.T) {
			t.Parallel()
			s := Setup{Style: style.Name, Mode: []string{"vxlan", "host-gw"}[k%2], Deny: "reject", IPv6: k == 1}
			h := &churnLab{testLab: enter(t, &s), random: rand.New(rand.NewPCG(11, uint64(k)))}
			lab, old := start(t), h.snapshot(t, "at first")
			apply(t, lab, old.plan)
			for range 20 {
				_, what := h.change()
				next := h.snapshot(t, what)
				streamTenants(t, lab, old, next)
				h.report(t, next.judged, next.right, kernel(t, lab, next.questions, next.right))
				if old = next; t.Failed() {
					return
				}
			}
		})
	}
}

// streamTenants applies a change while pods that stay, come or go dial and are dialed.
func streamTenants(t *testing.T, lab *engine.Client, old, next *snapshot) {
	t.Helper()
	var flows []flow.Flow
	names := slices.Sorted(maps.Keys(next.by))
	for _, name := range slices.Sorted(maps.Keys(old.by)) {
		if _, both := next.by[name]; !both {
			names = append(names, name)
		}
	}
	for _, name := range names {
		i, is := next.by[name]
		f := next.questions[max(i, 0)].flow
		if !is {
			f = old.questions[old.by[name]].flow
		}
		f.Within = 900 * time.Millisecond // TCP would try again after a second
		flows = append(flows, f)
	}
	done := make(chan error, 1)
	go func() {
		_, err := lab.Apply(t.Context(), next.plan, engine.Meta{}, false)
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
		seen, err := lab.Probe(t.Context(), flows)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range seen {
			if complaint := contradiction(old, next, names[i], s); complaint != "" {
				t.Errorf("%s: %s: %s", next.Name, names[i], complaint)
			}
		}
	}
}

// contradiction describes an observation during a change that fits neither before nor
// after. A pod that comes or goes may be unreachable; but if reached, it must be
// allowed.
func contradiction(old, next *snapshot, name string, seen flow.Observation) string {
	before, was := old.by[name]
	after, is := next.by[name]
	like := func(e flow.Result) bool { return seen.Outcome == e.Outcome && seen.Answer == e.Answer }
	switch {
	case was && is:
		if like(old.right[before]) || like(next.right[after]) {
			return ""
		}
		return fmt.Sprintf("got %s %s, want %s", seen.Result(), seen.Err, next.right[after])
	case seen.Outcome != flow.Connected:
		return ""
	case is && seen.Answer == next.questions[after].to.agent && !next.allowed[after]:
		return fmt.Sprintf("%s was reached, which is denied after", seen.Answer)
	case was && seen.Answer == old.questions[before].to.agent && !old.allowed[before]:
		return fmt.Sprintf("%s was reached, which was denied before", seen.Answer)
	}
	return ""
}
