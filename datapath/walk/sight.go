package walk

import (
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// pass notes a packet that passes a link: what a packet socket on it receives, after
// POSTROUTING of what leaves and before PREROUTING of what arrives.
func (r *run) pass(dev *network.Link, out bool, p *packet) {
	seen := flow.Packet{Netns: dev.Host.Name, Link: dev.Name, Out: out}
	for p.inner != nil {
		seen.Around = append(seen.Around, flow.Outer{Kind: p.tunnel, Source: p.src, Destination: p.dst, TTL: p.ttl})
		seen.Hidden = seen.Hidden || p.hides
		p = p.inner
	}
	if !seen.Hidden {
		seen.Protocol, seen.Source, seen.Destination, seen.TTL = p.shown().Protocol, p.src, p.dst, p.ttl
	}
	r.passed = append(r.passed, seen)
}

// arrive notes a packet that a device hands up which is no end of a cable: cross has noted those.
func (r *run) arrive(dev *network.Link, p *packet) {
	if dev.Type != plan.Veth {
		r.pass(dev, false, p)
	}
}

// entries are the tracked connections of all hosts, but for those of tunnels.
func (r *run) entries() (all []flow.Entry) {
	for h, list := range r.conns {
		for _, c := range list {
			if c.confirmed && !c.tunnel {
				all = append(all, flow.Entry{Netns: h.Name, Protocol: string(c.orig.proto), Source: c.orig.src, Destination: c.orig.dst,
					ReplySource: c.reply.src, ReplyDestination: c.reply.dst, Replied: c.replied})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b flow.Entry) int { return strings.Compare(a.Netns, b.Netns) })
	return all
}

// met notes a rule that counts a packet.
func (r *run) met(v *visit, c chain, i int) {
	r.hits = append(r.hits, trace.Hit{Netns: v.h.Name, IPv6: v.p.ipv6(), Table: v.table, Chain: c.name(), Rule: i + 1, Tunnel: v.p.depth > 0})
}
