package walk_test

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/memory"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// sticky is the lab of the rows, in which the router spreads 10.9.9.9:80 over b and
// itself and keeps a client on its choice for a minute, as services with session
// affinity do.
func sticky() (*plan.Plan, flow.Flow) {
	p := routed()
	r := &p.Netns[0]
	tcp := iptables.Proto{Name: "tcp"}
	vip := iptables.Dst{Prefix: netip.MustParsePrefix("10.9.9.9/32")}
	noted := func(list string) iptables.Match { return iptables.Recent{List: list, Seconds: 60, Reap: true} }
	rules(r, "nat", "PREROUTING", rule(iptables.Jump{Chain: "SVC"}, vip, tcp))
	rules(r, "nat", "SVC", rule(iptables.Jump{Chain: "SEP-B"}, noted("B")), rule(iptables.Jump{Chain: "SEP-R"}, noted("R")),
		rule(iptables.Jump{Chain: "SEP-B"}, iptables.Random{Probability: 0.5}), rule(iptables.Jump{Chain: "SEP-R"}))
	rules(r, "nat", "SEP-B", rule(iptables.DNAT{To: addrPort("10.0.2.2:80")}, tcp, iptables.Recent{List: "B", Set: true}))
	rules(r, "nat", "SEP-R", rule(iptables.DNAT{To: addrPort("10.0.2.1:80")}, tcp, iptables.Recent{List: "R", Set: true}))
	p.Sort()
	return p, flow.Flow{From: "client.a", To: addrPort("10.9.9.9:80"), Protocol: flow.TCP}
}

func TestRecentKeepsAClient(t *testing.T) {
	p, f := sticky()
	w := walk.New(p)
	first := w.Walk(f)
	if len(first.Branches) != 2 {
		t.Fatalf("%d branches, want 2\n%s", len(first.Branches), render.Text(first, render.Brief))
	}
	for _, b := range first.Branches {
		for _, row := range []struct {
			after time.Duration
			want  int
		}{{0, 1}, {time.Minute, 1}, {61 * time.Second, 2}} {
			again := w.WalkFrom(b.State.After(row.after), f)
			if len(again.Answers()) != row.want || row.want == 1 && again.Answers()[0].Value != b.Answer {
				t.Errorf("%v after %s answered: %v, want %d", row.after, b.Answer, again.Answers(), row.want)
			}
		}
		// Each new connection restarts the minute.
		later := w.WalkFrom(b.State.After(50*time.Second), f).Branches[0].State.After(50 * time.Second)
		if got := w.WalkFrom(later, f); len(got.Branches) != 1 {
			t.Errorf("the second connection did not refresh the list\n%s", render.Text(got, render.Brief))
		}
	}
	if again := w.Walk(f); len(again.Branches) != 2 {
		t.Error("a walk changed the world")
	}
}

func TestSetsKeepAClientForATime(t *testing.T) {
	p := routed()
	source := []nft.Field{nft.IPSrc}
	pick := func(i uint32, chain string) nft.Element {
		return nft.Element{Key: []nft.Value{nft.Number(i)}, Verdict: nft.Goto(chain)}
	}
	r := &p.Netns[0]
	table := inTable(r, base("nat", "prerouting", -100), exprs(is(nft.IPDst, address("10.9.9.9")), nft.Goto("svc")))
	for name, to := range map[string]string{"b": "10.0.2.2", "r": "10.0.2.1"} {
		table.Sets = append(table.Sets, nft.Set{Name: name, Key: []nft.Type{nft.IPv4}, Timeout: 60})
		inTable(r, nft.Chain{Name: "svc"}, exprs(nft.Lookup{Fields: source, Set: name}, nft.Goto(name)))
		inTable(r, nft.Chain{Name: name}, exprs(nft.Update{Fields: source, Set: name}), exprs(is(nft.L4Proto, nft.Protocol("tcp")), nft.DNAT{To: address(to), Port: 80}))
	}
	inTable(r, nft.Chain{Name: "svc"}, exprs(nft.VMap{Fields: []nft.Field{nft.Random(2)}, Elements: []nft.Element{pick(0, "b"), pick(1, "r")}}))
	p.Sort()
	w, f := walk.New(p), flow.Flow{From: "client.a", To: addrPort("10.9.9.9:80"), Protocol: flow.TCP}
	first := w.Walk(f)
	if len(first.Branches) != 2 {
		t.Fatalf("%d branches, want 2\n%s", len(first.Branches), render.Text(first, render.Brief))
	}
	for _, b := range first.Branches {
		for _, row := range []struct {
			after time.Duration
			want  int
		}{{0, 1}, {59 * time.Second, 1}, {time.Minute, 2}} {
			again := w.WalkFrom(b.State.After(row.after), f)
			if len(again.Answers()) != row.want || row.want == 1 && again.Answers()[0].Value != b.Answer {
				t.Errorf("%v after %s answered: %v, want %d", row.after, b.Answer, again.Answers(), row.want)
			}
		}
	}
}

func TestServicesKeepTheirClients(t *testing.T) {
	l := build(t, balancers())
	w := walk.New(l.plan)
	f := l.flow(t, "shell-1", "service sticky")
	first := w.Walk(f)
	if len(first.Answers()) != 3 {
		t.Fatalf("got %v, want three answers\n%s", first.Answers(), render.Text(first, render.Brief))
	}
	for _, b := range first.Branches {
		if again := w.WalkFrom(b.State, f); len(again.Answers()) != 1 || again.Answers()[0].Value != b.Answer {
			t.Errorf("%s answered first, then %v", b.Answer, again.Answers())
		}
		if other := w.WalkFrom(b.State, l.flow(t, "shell-2", "service sticky")); len(other.Answers()) != 3 {
			t.Errorf("one client's choice binds another: %v", other.Answers())
		}
	}
}

func TestRecentForgetsTheOldestOfAHundred(t *testing.T) {
	p, f := sticky()
	a := &p.Netns[slices.IndexFunc(p.Netns, func(n plan.Netns) bool { return n.Name == "client.a" })]
	var s *memory.State
	dial := func(i int) trace.Prediction {
		a.Addrs[0].Prefix = netip.MustParsePrefix(fmt.Sprintf("10.0.1.%d/24", i))
		got := walk.New(p).WalkFrom(s, f)
		s = got.Branches[0].State // always SEP-B
		return got
	}
	for i := range 100 {
		dial(2 + i)
	}
	if got := dial(2); len(got.Branches) != 1 {
		t.Errorf("forgot one of 100\n%s", render.Text(got, render.Brief))
	}
	dial(102) // 3 is evicted
	if got := dial(2); len(got.Branches) != 1 {
		t.Errorf("evicted one other than the oldest\n%s", render.Text(got, render.Brief))
	}
	if got := dial(3); len(got.Branches) != 2 {
		t.Errorf("remembers 101\n%s", render.Text(got, render.Brief))
	}
}

func TestRoutesSpreadOverGateways(t *testing.T) {
	p := routed()
	a := &p.Netns[1]
	a.Routes[0].More = []netip.Addr{netip.MustParseAddr("10.0.1.77")} // unused
	got := walk.New(p).Walk(flow.Flow{From: "client.a", To: addrPort("10.0.2.2:80")})
	want := []trace.Weight[flow.Outcome]{{Value: flow.Connected, Probability: 0.5}, {Value: flow.Timeout, Probability: 0.5}}
	if !slices.Equal(got.Outcomes(), want) {
		t.Errorf("got %v, want %v\n%s", got.Outcomes(), want, render.Text(got, render.Brief))
	}
}

func TestAWorldServesSeveralGoroutines(t *testing.T) {
	l := build(t, threeNodes("vxlan"))
	w := walk.New(l.plan)
	want := l.ends(walk.New(l.plan).Walk(l.flow(t, "shell-3", "service cluster")))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, from := range []string{"shell-3", "node2", "laptop", "shell-3"} {
				p := w.Walk(l.flow(t, from, "service cluster"))
				if from == "shell-3" && l.ends(p) != want {
					t.Errorf("got %s, want %s", l.ends(p), want)
				}
			}
		})
	}
	all.Wait()
}
