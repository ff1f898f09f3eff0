package plan

import (
	"maps"
	"slices"

	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// Requires returns the features that the plan needs, in the order of AllFeatures.
// It depends on the plan alone, never on the machine.
func Requires(p *Plan) []feature.Feature {
	set := needed{}
	for i := range p.Netns {
		set.add(feature.NetNS)
		p.Netns[i].requires(set)
	}
	return feature.InOrder(slices.Collect(maps.Keys(set)))
}

// Requires returns the features that the changes need, as Requires does for a plan:
// those of what is new.
func (c Changes) Requires() []feature.Feature {
	p := Plan{Netns: append([]Netns{}, c.Create...)}
	for _, e := range c.Edit {
		n := e.Add
		n.Links = append(append([]Link{}, e.Add.Links...), e.Change.Links...)
		n.Sysctls = append(append([]Sysctl{}, e.Add.Sysctls...), e.Change.Sysctls...)
		n.Agents = append(append([]occupant.Agent{}, e.Add.Agents...), e.Change.Agents...)
		n.Execs = append(append([]occupant.Exec{}, e.Add.Execs...), e.Change.Execs...)
		n.Tunnels = append(append([]occupant.Tunnel{}, e.Add.Tunnels...), e.Change.Tunnels...)
		n.Qdiscs = append(append([]Qdisc{}, e.Add.Qdiscs...), e.Change.Qdiscs...)
		n.Sets = append(append([]ipset.Set{}, e.Add.Sets...), e.Change.Sets...)
		for _, s := range e.Sets {
			n.Sets = append(n.Sets, s.Set)
		}
		for _, v := range e.Virtual {
			n.Virtual = append(n.Virtual[:len(n.Virtual):len(n.Virtual)], v.Server)
		}
		n.XfrmStates = append(append([]XfrmState{}, e.Add.XfrmStates...), e.Change.XfrmStates...)
		n.Tables = nil
		for _, t := range e.Tables {
			n.Tables = append(n.Tables, iptables.Table{IPv6: t.IPv6, Name: t.Name, Chains: t.Set})
		}
		n.NFT = nil
		for i := range e.NFT {
			t := e.NFT[i].Table
			for _, x := range e.NFT[i].Elements {
				t.Sets = append(t.Sets[:len(t.Sets):len(t.Sets)], x.Set)
			}
			n.NFT = append(n.NFT, t)
		}
		p.Netns = append(p.Netns, n)
	}
	return Requires(&p)
}

// AgentsNeed are the features that the plan needs for its agents alone.
func (p *Plan) AgentsNeed() (list []feature.Feature) {
	for i := range p.Netns {
		for _, x := range p.Netns[i].Execs {
			for _, f := range x.Needs {
				if !slices.Contains(list, feature.Feature(f)) {
					list = append(list, feature.Feature(f))
				}
			}
		}
	}
	return list
}

// needed is the set of features that a plan needs.
type needed map[feature.Feature]bool

func (n needed) add(f feature.Feature) { n[f] = true }

func (n *Netns) requires(set needed) {
	for _, l := range n.Links {
		switch l.Type {
		case Veth:
			set.add(feature.Veth)
		case Bridge:
			set.add(feature.Bridge)
		case VXLAN:
			set.add(feature.VXLAN)
		case IPIP:
			set.add(feature.IPIP)
		case TUN:
			set.add(feature.Tun)
		case WireGuard:
			set.add(feature.WireGuardOrTun)
		case Dummy:
			set.add(feature.Dummy)
		}
	}
	for _, s := range n.Sysctls {
		switch {
		case s.Key == "net.bridge.bridge-nf-call-iptables":
			set.add(feature.BrNetfilter)
		case s.OfIPVS():
			set.add(feature.IPVS)
		}
	}
	for i := range n.Qdiscs {
		if n.Qdiscs[i].Impairs() {
			set.add(feature.Netem)
		}
		if n.Qdiscs[i].Rate > 0 {
			set.add(feature.TBF)
		}
	}
	if len(n.XfrmStates)+len(n.XfrmPolicies) > 0 {
		set.add(feature.ESP)
	}
	if len(n.Sets) > 0 {
		set.add(feature.IPSet)
	}
	if len(n.Virtual) > 0 {
		set.add(feature.IPVS)
	}
	for i := range n.Tunnels {
		if !n.Tunnels[i].WireGuard() {
			set.add(feature.Tun)
		}
	}
	if len(n.Cut) > 0 {
		set.add(feature.Conntrack)
	}
	var listen []occupant.Listen
	for i := range n.Agents {
		listen = append(listen, n.Agents[i].Listen...)
	}
	for i := range n.Execs {
		listen = append(listen, n.Execs[i].Listen...)
		for _, f := range n.Execs[i].Needs {
			set.add(feature.Feature(f))
		}
	}
	if slices.ContainsFunc(listen, func(l occupant.Listen) bool { return l.Protocol == "sctp" }) {
		set.add(feature.SCTP)
	}
	for i := range n.Tables {
		requiresTable(set, &n.Tables[i])
	}
	for i := range n.NFT {
		requiresNFTTable(set, &n.NFT[i])
	}
}

func requiresTable(set needed, t *iptables.Table) {
	if t.IPv6 {
		set.add(feature.IP6Tables)
	} else {
		set.add(feature.IPTables)
	}
	if t.Name == "nat" {
		set.add(feature.Conntrack)
	}
	for i := range t.Chains {
		for j := range t.Chains[i].Rules {
			requiresRule(set, &t.Chains[i].Rules[j])
		}
	}
}

func requiresRule(set needed, r *iptables.Rule) {
	for _, m := range r.Matches {
		switch m := m.(type) {
		case iptables.Comment:
			set.add(feature.MatchComment)
		case iptables.Mark:
			set.add(feature.MatchMark)
		case iptables.CTState, iptables.State:
			set.add(feature.MatchConntrack)
			set.add(feature.Conntrack)
		case iptables.AddrType:
			set.add(feature.MatchAddrType)
		case iptables.Random:
			set.add(feature.MatchStatistic)
		case iptables.Recent:
			set.add(feature.MatchRecent)
		case iptables.MatchSet:
			set.add(feature.MatchSet)
			set.add(feature.IPSet)
		case iptables.MultiPort:
			set.add(feature.MatchMultiPort)
		case iptables.Physdev, iptables.PhysdevIsIn:
			set.add(feature.MatchPhysdev)
		case iptables.Limit:
			set.add(feature.MatchLimit)
		case iptables.IPVS:
			set.add(feature.MatchIPVS)
		case iptables.Proto:
			if m.Name == "sctp" {
				set.add(feature.MatchSCTP)
			}
		}
	}
	switch r.Target.(type) {
	case iptables.OrMark, iptables.XorMark, iptables.SetMark:
		set.add(feature.TargetMark)
	case iptables.NFLog:
		set.add(feature.TargetNFLog)
	case iptables.NoTrack:
		set.add(feature.TargetCT)
	case iptables.DNAT:
		set.add(feature.TargetDNAT)
	case iptables.Redirect:
		set.add(feature.TargetRedirect)
	case iptables.Masquerade:
		set.add(feature.TargetMasquerade)
	case iptables.Reject:
		set.add(feature.TargetReject)
	}
}

func requiresNFTTable(set needed, t *nft.Table) {
	set.add(feature.NFT)
	for i := range t.Sets {
		if s := &t.Sets[i]; s.Interval && len(s.Key) > 1 {
			set.add(feature.NFTRanges)
		}
	}
	for i := range t.Chains {
		c := &t.Chains[i]
		if c.Type == "nat" {
			set.add(feature.NFTNAT)
		}
		for j := range c.Rules {
			for _, x := range c.Rules[j].Exprs {
				requiresNFT(set, x)
			}
		}
	}
}

func requiresNFT(set needed, x nft.Expr) {
	switch x.(type) {
	case nft.DNAT, nft.Masquerade:
		set.add(feature.NFTNAT)
	case nft.Reject:
		set.add(feature.NFTReject)
	case nft.CTState, nft.CTStatus:
		set.add(feature.Conntrack)
		set.add(feature.NFTCT)
	}
	fields, _ := nft.LookedUp(x)
	for _, f := range fields {
		switch {
		case f == nft.FibSrcType || f == nft.FibDstType:
			set.add(feature.NFTFib)
		case f == nft.CTMark || f == nft.OrigDst || f == nft.OrigDst6 || f == nft.OrigDPort:
			set.add(feature.NFTCT)
		case f.Modulus() > 0:
			set.add(feature.NFTNumgen)
		}
	}
}
