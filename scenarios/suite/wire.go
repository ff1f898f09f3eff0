package suite

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/trace"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/topology"
)

// wire is the connection by which variations of a lab are compared: between the first pods
// of two nodes.
type wire struct {
	lab      *Lab
	from, to *topology.Pod
	at       netip.AddrPort
}

// wireOf finds the connection; nil: the lab has no variations, or no two such pods.
func wireOf(l *Lab) *wire {
	if l.Scenario.Variation == nil || len(l.Scenario.Expects) == 0 {
		return nil
	}
	own := func(p *topology.Pod) bool { return !p.HostNetwork && len(p.Addrs) > 0 }
	for _, from := range l.Scenario.Lab.Pods {
		for _, to := range l.Scenario.Lab.Pods {
			i := slices.IndexFunc(to.Ports, func(p topology.Port) bool { return p.Protocol == topology.TCP })
			if !own(from) || !own(to) || from.Node == to.Node || i < 0 || len(to.Command) > 0 {
				continue
			}
			return &wire{l, from, to, netip.AddrPortFrom(to.Addrs[0], to.Ports[i].Number)}
		}
	}
	return nil
}

// wireUpload is how many bytes are sent to see what they become on the wire.
const wireUpload = 1 << 20

// wireWithin is how long that may take.
const wireWithin = 10 * time.Second

func (w *wire) flow() flow.Flow {
	return flow.Flow{From: w.from.Netns(), To: w.at, Protocol: flow.TCP, Upload: wireUpload, Within: wireWithin}
}

// wireOnPaper are the facts of a lab that is not running, from the world of its plan; nil: it
// has no such connection.
func wireOnPaper(l *Lab, paper *walk.World) []reports.Wire {
	w := wireOf(l)
	if w == nil {
		return nil
	}
	return []reports.Wire{w.facts(paper, nil, 0)}
}

// facts are what differs between networks: of the connection, on paper or as observed, and
// of the node that it leaves. sent is how many bytes the uplink sent; 0: unknown.
func (w *wire) facts(paper *walk.World, o *flow.Observation, sent uint64) reports.Wire {
	s := w.lab.Scenario
	f := w.flow()
	f.Upload = 0
	path := paper.Walk(f)
	tunnel, ttl := "none", "-"
	for _, b := range path.Branches {
		if b.TTL > 0 && b.Answer == w.to.AgentName() {
			ttl = strconv.Itoa(b.TTL)
		}
		if slices.ContainsFunc(b.Steps, func(s trace.Step) bool { return s.Kind == trace.Encap }) {
			tunnel = string(s.Lab.Network.Mode.Tunnel)
		}
	}
	mtu := linkOf(w.lab.Plan, w.from.Netns(), podnet.Uplink).MTU
	mss, perByte := strconv.Itoa(mtu-flow.Headers(w.at.Addr())), "-"
	if ttl == "-" {
		mss = "-"
	}
	if o != nil && o.Outcome == flow.Connected && o.Answer == w.to.AgentName() {
		ttl = strconv.Itoa(o.TTL)
		if o.MTU > 0 {
			mss = strconv.Itoa(o.MTU - flow.Headers(w.at.Addr()))
			perByte = onUplink(o, sent, float64(o.MTU-flow.Headers(w.at.Addr())))
		}
	}
	facts := []reports.Fact{
		{Name: "TTL of packets that arrive", Value: ttl},
		{Name: "TCP segment size (MSS)", Value: mss},
		{Name: "MTU of pods", Value: strconv.Itoa(mtu)},
		{Name: "encapsulation", Value: tunnel},
		{Name: "bytes on the uplink per byte of payload", Value: perByte},
	}
	if n := netnsOf(w.lab.Plan, w.from.Node.Netns()); n != nil {
		facts = append(facts,
			reports.Fact{Name: "devices of " + w.from.Node.Name, Value: strconv.Itoa(len(n.Links))},
			reports.Fact{Name: "routes of " + w.from.Node.Name, Value: strconv.Itoa(len(n.Routes))},
			reports.Fact{Name: "neighbour and forwarding entries of " + w.from.Node.Name, Value: strconv.Itoa(len(n.Neighs) + len(n.FDB))})
	}
	return reports.Wire{Scenario: s.Name, Variation: s.Variation.String(), File: s.Path(s.Expects[0].Origin.File), Facts: facts,
		Pair: fmt.Sprintf("%s on %s → %s on %s", w.from.AgentName(), w.from.Node.Name, w.to.AgentName(), w.to.Node.Name)}
}

// onUplink is how many bytes the uplink sends for one of payload in full segments, given what
// it sent for an observed connection. How full its segments were, and how many were sent
// again, depends on how busy the machine is; the headers of a segment do not.
func onUplink(o *flow.Observation, sent uint64, mss float64) string {
	if o.Segments == 0 || sent <= o.Payload {
		return "-"
	}
	headers := float64(sent-o.Payload) / float64(o.Segments)
	return fmt.Sprintf("%.2f", (mss+headers)/mss)
}

func netnsOf(p *plan.Plan, name string) *plan.Netns {
	i := slices.IndexFunc(p.Netns, func(n plan.Netns) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Netns[i]
}

func linkOf(p *plan.Plan, netns, name string) (l plan.Link) {
	if n := netnsOf(p, netns); n != nil {
		for _, x := range n.Links {
			if x.Name == name {
				l = x
			}
		}
	}
	return l
}
