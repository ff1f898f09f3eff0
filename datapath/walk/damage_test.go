package walk_test

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
)

// FuzzWalk walks randomly damaged plans: a walk ends, does not panic, and its
// probabilities add up.
func FuzzWalk(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, blows uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		modes := datapath.ClusterModes()
		l := build(t, threeNodes(modes[r.IntN(len(modes))].Name))
		for range blows {
			hammer(r, l)
		}
		w := walk.New(l.plan)
		for range 10 {
			fl := someFlow(r, l)
			p := w.Walk(fl)
			sum := 0.0
			for _, b := range p.Branches {
				sum += b.Probability
				if b.Outcome == "" {
					t.Fatalf("%v: no outcome\n%s", fl, render.Text(p, render.Full))
				}
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Fatalf("%v: the probabilities add up to %v", fl, sum)
			}
			_, _ = render.Text(p, render.Brief), render.Mermaid(p)
			if _, err := p.MarshalJSON(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func one[T any](r *rand.Rand, list []T) *T {
	if len(list) == 0 {
		return new(T)
	}
	return &list[r.IntN(len(list))]
}

// hammer breaks one thing.
func hammer(r *rand.Rand, l lab) {
	n := one(r, l.plan.Netns)
	some := one(r, l.plan.Netns)
	switch r.IntN(14) {
	case 0:
		n.Links = slices.Delete(n.Links, 0, min(len(n.Links), r.IntN(2)))
	case 1:
		one(r, n.Links).Master = one(r, n.Links).Name
	case 2:
		one(r, n.Links).Peer = plan.Peer{Netns: some.Name, Link: one(r, some.Links).Name}
	case 3:
		one(r, n.Addrs).Prefix = one(r, some.Addrs).Prefix
	case 4: // routing loops
		n.Routes = append(n.Routes, plan.Route{To: one(r, some.Addrs).Prefix, Via: one(r, one(r, l.plan.Netns).Addrs).Prefix.Addr(), Dev: one(r, n.Links).Name, OnLink: true})
	case 5:
		n.Sysctls = append(slices.Clone(n.Sysctls), plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "1"})
	case 6:
		n.Neighs = append(n.Neighs, plan.Neigh{Link: one(r, n.Links).Name, Addr: one(r, some.Addrs).Prefix.Addr(), MAC: one(r, some.Links).MAC})
	case 7: // a tunnel through itself
		n.FDB = append(n.FDB, plan.FDB{Link: one(r, n.Links).Name, MAC: one(r, some.Links).MAC, Dst: one(r, some.Addrs).Prefix.Addr()})
	case 8:
		one(r, n.Links).Type = plan.VXLAN
	case 9:
		one(r, n.Links).Type = plan.Bridge
	case 10:
		n.IPv6 = !n.IPv6
	default:
		t := one(r, n.Tables)
		c := one(r, t.Chains)
		c.Rules = append(c.Rules, wildRule(r, one(r, t.Chains).Name))
		r.Shuffle(len(c.Rules), func(i, j int) { c.Rules[i], c.Rules[j] = c.Rules[j], c.Rules[i] })
	}
}

type oddMatch struct{ iptables.Match }

type oddTarget struct{ iptables.Target }

func wildRule(r *rand.Rand, chain string) iptables.Rule {
	targets := []iptables.Target{iptables.Jump{Chain: chain}, iptables.Jump{Chain: chain}, iptables.Jump{Chain: "NOWHERE"}, iptables.Return{}, iptables.Drop{}, iptables.Reject{},
		iptables.Reject{With: "tcp-reset"}, iptables.Masquerade{}, iptables.DNAT{To: netip.MustParseAddrPort("192.168.0.12:30080")}, iptables.DNAT{}, iptables.OrMark{Bits: 0x4000}, nil, oddTarget{iptables.Drop{}}}
	rule := iptables.Rule{Target: targets[r.IntN(len(targets))]}
	if r.IntN(3) == 0 {
		rule.Matches = append(rule.Matches, iptables.Random{Probability: r.Float64()})
	}
	if r.IntN(10) == 0 {
		rule.Matches = append(rule.Matches, oddMatch{iptables.Comment{}})
	}
	return rule
}

func someFlow(r *rand.Rand, l lab) flow.Flow {
	f := flow.Flow{From: one(r, l.plan.Netns).Name, Protocol: []flow.Protocol{flow.TCP, flow.UDP, flow.SCTP, ""}[r.IntN(4)]}
	switch s := one(r, l.Services); r.IntN(3) {
	case 0:
		f.To = netip.AddrPortFrom((*s).ClusterIPs[0], 80)
	case 1:
		f.To = netip.AddrPortFrom(one(r, l.Nodes[r.IntN(3)].Addrs).Unmap(), (*s).Ports[0].NodePort)
	default:
		f.To = netip.AddrPortFrom(one(r, one(r, l.plan.Netns).Addrs).Prefix.Addr(), 8080)
	}
	return f
}
