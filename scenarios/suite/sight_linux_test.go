package suite_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/scenarios/expect/trial"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/suite"
)

// seenLab has all that a packet can pass: links to pods and between nodes, service addresses and
// node ports, by streams and by datagrams.
const seenLab = `
network {
  mode = %q
  %s
}
proxy { mode = %q }
node "node1" {}
node "node2" {}
client "laptop" {}
pod "near" { node = node.node1 }
pod "twin" {
  node = node.node1
  port "http" { port = 8080 }
}
pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
  port "echo" {
    port     = 5353
    protocol = "udp"
  }
}
service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = 8080
    node_port   = 30080
  }
  port "echo" {
    port        = 53
    protocol    = "udp"
    target_port = 5353
    node_port   = 30053
  }
}
expect "connections" {
  from = [client.laptop, pod.near, pod.web, node.node1, node.node2]
  to   = [pod.twin.ip, pod.web.ip, service.web.cluster_ip, node.node1.ip, node.node2.ip]
  port = 1
}
`

// Packets pass the links that they pass on paper, and no others,
// connection tracking has the entries that it has on paper, and rules count what they meet there: in
// every network and with every proxy that has rules.
func TestPacketsPassWhereTheyPassOnPaper(t *testing.T) {
	for _, m := range datapath.Modes() {
		if m.SharedCIDR {
			continue // it has no services
		}
		t.Run(m.Name, func(t *testing.T) { comparePassing(t, m.Name, "", "iptables") })
	}
	for _, proxy := range []string{"nftables", "ipvs"} {
		t.Run(proxy, func(t *testing.T) { comparePassing(t, "host-gw", "", proxy) })
	}
	t.Run("IPv6", func(t *testing.T) {
		comparePassing(t, "vxlan", `pod_cidr = "fd00:10::/56"
  service_cidr = "fd00:20::/112"
  node_cidr = "fd00:30::/64"`, "iptables")
	})
}

func comparePassing(t *testing.T, mode, more, proxy string) {
	t.Helper()
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seen.hcl")
	if err := os.WriteFile(path, fmt.Appendf(nil, seenLab, mode, more, proxy), 0o644); err != nil {
		t.Fatal(err)
	}
	s, diags := language.Load(path, language.Options{Catalogue: datapath.Catalogue()})
	if diags.HasErrors() {
		t.Fatal(diags.JSON())
	}
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	running, err := engine.Start(t.Context(), "")
	skipUnsupported(t, err)
	t.Cleanup(func() {
		if err := running.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	_, err = running.Apply(t.Context(), p, engine.Meta{}, false)
	skipUnsupported(t, err)

	w := engine.Watch{}
	for i := range p.Netns {
		n := &p.Netns[i]
		for _, l := range append([]plan.Link{{Name: "lo"}}, n.Links...) {
			w.Links = append(w.Links, plan.Peer{Netns: n.Name, Link: l.Name})
		}
		if n.Kind == plan.Node {
			w.Tracked = append(w.Tracked, n.Name)
			if mode == "vxlan" || mode == "canal" { // takes half a minute in all of them
				w.Counted = append(w.Counted, n.Name)
			}
		}
	}
	world := walk.New(p)
	e := s.Expects[0]
	for _, from := range e.From {
		for _, to := range e.To {
			for _, protocol := range []flow.Protocol{flow.TCP, flow.UDP} {
				f := flow.Flow{From: from.Netns, To: netip.AddrPortFrom(to.Addr.Addr(), portFor(to.Addr.Addr(), protocol, p)), Protocol: protocol, Within: time.Second}
				if b := world.Walk(f).Branches; len(b) == 1 && b[0].Outcome == flow.Connected {
					w.Flows = append(w.Flows, f)
				}
			}
		}
	}
	if len(w.Flows) < 10 {
		t.Fatalf("%d connections to look at", len(w.Flows))
	}
	// The first time neighbours are learned and tunnels shake hands.
	if _, err := running.Probe(t.Context(), w.Flows); err != nil {
		t.Fatal(err)
	}
	// What hosts send by themselves, as about groups, is seen and counted, too: it does not come
	// every time.
	differs := map[string][]string{}
	for range 5 {
		observations, sights, err := running.Watch(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		differs = map[string][]string{}
		var again []flow.Flow
		for i, f := range w.Flows {
			if diff := compareSight(p, world, observations[i], sights[i], len(w.Counted) > 0 && more == ""); len(diff) > 0 {
				differs[fmt.Sprintf("%s to %s over %s", f.From, f.To, f.Protocol)] = diff
				again = append(again, f)
			}
		}
		if w.Flows = again; len(again) == 0 {
			return
		}
	}
	for what, diff := range differs {
		t.Errorf("%s\n  %s", what, strings.Join(diff, "\n  "))
	}
}

// compareSight says how what was seen of a connection differs from paper; rules count neighbour
// discovery of IPv6, too.
func compareSight(p *plan.Plan, world *walk.World, o flow.Observation, s flow.Sight, counts bool) (diff []string) {
	prediction := world.Walk(o.Flow)
	b := prediction.Branches[0]
	if got := o.Result(); !got.Agrees(b.Result) {
		return []string{got.Full() + ", on paper " + b.Full()}
	}
	diff = append(compareSights(s.Packets, b.Passed, samePacket), compareSights(s.Entries, b.Tracked, sameEntry)...)
	if !counts {
		return diff
	}
	var paper []flow.Count
	for i := range p.Netns {
		paper = append(paper, suite.CountsOn(&p.Netns[i], trial.Forecast{Prediction: prediction}, 0)...)
	}
	return append(diff, compareCounts(s.Counts, paper)...)
}

// compareCounts holds what rules counted against paper, where each packet is one count.
func compareCounts(seen, paper []flow.Count) (diff []string) {
	type sum struct {
		n       uint64
		atLeast bool
	}
	add := func(list []flow.Count) map[string]sum {
		all := map[string]sum{}
		for _, c := range list {
			key := c.Netns + " " + c.Table + " " + c.Rule
			all[key] = sum{all[key].n + c.Packets, all[key].atLeast || c.AtLeast}
		}
		return all
	}
	have, want := add(seen), add(paper)
	for rule, h := range have {
		if w := want[rule]; h.n != w.n && !(w.atLeast && h.n > w.n) {
			diff = append(diff, fmt.Sprintf("counted %d, on paper %d: %s", h.n, w.n, rule))
		}
	}
	for rule, w := range want {
		if have[rule].n < w.n {
			diff = append(diff, fmt.Sprintf("counted %d, on paper %d: %s", have[rule].n, w.n, rule))
		}
	}
	return diff
}

// portFor is what listens at an address: of a service, a node or a pod.
func portFor(a netip.Addr, protocol flow.Protocol, p *plan.Plan) uint16 {
	ports := map[bool][3]uint16{true: {30053, 5353, 53}, false: {30080, 8080, 80}}[protocol == flow.UDP]
	for i := range p.Netns {
		for _, x := range p.Netns[i].Addrs {
			if x.Prefix.Addr() == a && p.Netns[i].Kind == plan.Node && x.Link == "eth0" {
				return ports[0]
			}
			if x.Prefix.Addr() == a && p.Netns[i].Kind == plan.Pod {
				return ports[1]
			}
		}
	}
	return ports[2]
}

// end reports whether an end of a packet is as on paper, where the kernel chooses ports that are 0.
func end(seen, paper netip.AddrPort) bool {
	return seen == paper || paper.Port() == 0 && seen.Addr() == paper.Addr()
}

func samePacket(seen, paper flow.Packet) bool {
	around := func(a, b flow.Outer) bool {
		return a.Kind == b.Kind && a.TTL == b.TTL && end(a.Source, b.Source) && end(a.Destination, b.Destination)
	}
	return seen.Netns == paper.Netns && seen.Link == paper.Link && seen.Out == paper.Out && seen.Protocol == paper.Protocol && seen.TTL == paper.TTL &&
		seen.Hidden == paper.Hidden && end(seen.Source, paper.Source) && end(seen.Destination, paper.Destination) && slices.EqualFunc(seen.Around, paper.Around, around)
}

func sameEntry(seen, paper flow.Entry) bool {
	return seen.Netns == paper.Netns && seen.Protocol == paper.Protocol && seen.Replied == paper.Replied && end(seen.Source, paper.Source) &&
		end(seen.Destination, paper.Destination) && end(seen.ReplySource, paper.ReplySource) && end(seen.ReplyDestination, paper.ReplyDestination)
}

// compareSights wants that what was seen is on paper, and the reverse.
func compareSights[T fmt.Stringer](seen, paper []T, same func(seen, paper T) bool) (diff []string) {
	for _, s := range seen {
		if !slices.ContainsFunc(paper, func(p T) bool { return same(s, p) }) {
			diff = append(diff, fmt.Sprintf("seen, not on paper: %s: %+v", s, s))
		}
	}
	for _, p := range paper {
		if !slices.ContainsFunc(seen, func(s T) bool { return same(s, p) }) {
			diff = append(diff, fmt.Sprintf("on paper, not seen: %s: %+v", p, p))
		}
	}
	slices.Sort(diff)
	return slices.Compact(diff)
}
