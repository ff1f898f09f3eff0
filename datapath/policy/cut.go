package policy

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/topology"
)

// Cut is the value of Options.Live that ends connections that the current policies do
// not allow.
const Cut = "cut"

// Cuts returns which connections may stay, for each pod and each direction with
// policies; own are the addresses of the node. It is the same for all styles, and
// empty where known connections are kept.
func (v *View) Cuts(own []netip.Addr) []conntrack.Cut {
	if v.Options.Live != Cut {
		return nil
	}
	var out []conntrack.Cut
	for i := range v.Pods {
		p := &v.Pods[i]
		for _, a := range p.Addrs {
			for _, d := range []Direction{Ingress, Egress} {
				if side := p.Side(d); !side.Open() {
					c := cutter{pod: a, own: own, exempt: d == Ingress || !v.Options.HostEgress}
					out = append(out, conntrack.Cut{Pod: a, Ingress: d == Ingress, Allow: c.allow(side), Origin: PodOrigin(p.Pod)})
				}
			}
		}
	}
	return out
}

// cutter finds what one direction of a pod allows, in the family of its address.
type cutter struct {
	pod    netip.Addr
	own    []netip.Addr
	exempt bool // the node is the other end: allowed
}

// clause is what a rule says about some peers, a protocol and a range of ports.
type clause struct {
	conntrack.Allow
	action topology.PolicyAction
}

func (c *cutter) allow(s *Side) []conntrack.Allow {
	always := []netip.Prefix{topology.Single(c.pod)}
	for _, a := range c.own {
		if c.exempt && a.Is6() == c.pod.Is6() {
			always = append(always, topology.Single(a))
		}
	}
	out := []conntrack.Allow{{Peer: mergeBlocks(always)}}
	network := c.clauses(s.Network)
	if len(s.Admin) == 0 && s.Isolated() {
		for i := range network {
			out = append(out, network[i].Allow)
		}
		return out
	}
	t := tiers{admin: c.clauses(s.Admin), rest: network}
	if !s.Isolated() {
		t.rest = append(c.clauses(s.Baseline), clause{action: topology.PolicyAccept})
	}
	return append(out, t.allowed(c.pod.Is6())...)
}

// clauses are what the rules of some sections say, in their order.
func (c *cutter) clauses(sections []*Section) []clause {
	var out []clause
	for _, s := range sections {
		for _, r := range s.Rules {
			out = append(out, c.rule(s, r)...)
		}
	}
	return out
}

func (c *cutter) rule(s *Section, r *Rule) []clause {
	peers := r.Peers(c.pod.Is6())
	if peers.None() {
		return nil
	}
	var who []netip.Prefix
	if !peers.Any {
		who = mergeBlocks(peers.Prefixes())
	}
	if r.AnyPort {
		return []clause{{conntrack.Allow{Peer: who}, r.Action}}
	}
	var out []clause
	for _, p := range r.Ranges {
		a := conntrack.Allow{Peer: who, Proto: string(p.Protocol), First: p.First, Last: p.Last}
		if p.All() {
			a.First, a.Last = 0, 0
		}
		if p.Last > 0 {
			out = append(out, clause{a, r.Action})
		}
	}
	for _, m := range s.Named(r, c.pod.Is6()) {
		a := conntrack.Allow{Peer: who, Proto: string(m.Protocol), First: m.Port, Last: m.Port}
		switch {
		case s.Direction == Egress:
			a.Peer = []netip.Prefix{topology.Single(m.Addr)}
		case m.Addr != c.pod:
			continue
		}
		out = append(out, clause{a, r.Action})
	}
	return out
}

// tiers are clauses of which the first that covers a connection decides: Pass leaves
// the Admin tier, and what no rule matches is denied.
type tiers struct{ admin, rest []clause }

// allowed lists what is accepted. Peers and ports are divided into parts of which
// every clause covers all or nothing.
func (t *tiers) allowed(ipv6 bool) []conntrack.Allow {
	all := slices.Concat(t.admin, t.rest)
	whole := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if ipv6 {
		whole = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	blocks := []netip.Prefix{whole}
	for i := range all {
		blocks = append(blocks, all[i].Peer...)
	}
	slices.SortFunc(blocks, func(a, b netip.Prefix) int { return a.Compare(b) })
	blocks = slices.Compact(blocks)
	var out []conntrack.Allow
	for _, proto := range []string{string(topology.TCP), string(topology.UDP), string(topology.SCTP), "icmp"} {
		for _, ports := range portParts(all, proto) {
			var who []netip.Prefix
			for _, b := range blocks {
				if t.accepts(b, proto, ports.First) {
					who = append(who, subtract(b, inside(b, blocks))...)
				}
			}
			if len(who) > 0 {
				out = append(out, conntrack.Allow{Peer: mergeBlocks(who), Proto: proto, First: ports.First, Last: ports.Last})
			}
		}
	}
	return out
}

// portParts divides the ports of a protocol; one part of 0 and 0 stands for a protocol
// without ports.
func portParts(all []clause, proto string) []PortRange {
	if proto == "icmp" {
		return []PortRange{{}}
	}
	starts := []int{1}
	for i := range all {
		if c := &all[i]; c.Proto == proto && (c.First != 0 || c.Last != 0) {
			starts = append(starts, max(1, int(c.First)), int(c.Last)+1)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	var out []PortRange
	for i, first := range starts {
		last := lastPort
		if i+1 < len(starts) {
			last = starts[i+1] - 1
		}
		if first <= lastPort {
			out = append(out, PortRange{First: uint16(first), Last: uint16(last)})
		}
	}
	return out
}

// inside are the blocks that are parts of another, itself excluded.
func inside(block netip.Prefix, all []netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for _, b := range all {
		if b.Bits() > block.Bits() && block.Contains(b.Addr()) {
			out = append(out, b)
		}
	}
	return out
}

// accepts reports whether connections with a block are allowed, without the blocks
// inside it that clauses mention separately.
func (t *tiers) accepts(block netip.Prefix, proto string, port uint16) bool {
	for _, tier := range [][]clause{t.admin, t.rest} {
		for i := range tier {
			c := &tier[i]
			if !c.coversBlock(block, proto, port) {
				continue
			}
			if c.action == topology.PolicyPass {
				break
			}
			return c.action == topology.PolicyAccept
		}
	}
	return false
}

func (c *clause) coversBlock(block netip.Prefix, proto string, port uint16) bool {
	whole := slices.ContainsFunc(c.Peer, func(p netip.Prefix) bool { return p.Bits() <= block.Bits() && p.Contains(block.Addr()) })
	anyone := conntrack.Allow{Proto: c.Proto, First: c.First, Last: c.Last}
	return (c.Peer == nil || whole) && anyone.Covers(netip.Addr{}, proto, port)
}
