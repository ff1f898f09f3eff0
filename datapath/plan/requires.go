package plan

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Requires returns the features that the plan needs, in the order of AllFeatures.
// It depends on the plan alone, never on the machine.
func Requires(p *Plan) []Feature {
	set := needed{}
	for i := range p.Netns {
		set.add(FeatureNetNS)
		p.Netns[i].requires(set)
	}
	return inOrder(set)
}

// Requires returns the features that the changes need, as Requires does for a plan:
// those of what is new.
func (c Changes) Requires() []Feature {
	p := Plan{Netns: append([]Netns{}, c.Create...)}
	for _, e := range c.Edit {
		n := e.Add
		n.Links = append(append([]Link{}, e.Add.Links...), e.Change.Links...)
		n.Sysctls = append(append([]Sysctl{}, e.Add.Sysctls...), e.Change.Sysctls...)
		n.Agents = append(append([]Agent{}, e.Add.Agents...), e.Change.Agents...)
		n.Execs = append(append([]Exec{}, e.Add.Execs...), e.Change.Execs...)
		n.Tunnels = append(append([]Tunnel{}, e.Add.Tunnels...), e.Change.Tunnels...)
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

// needed is the set of features that a plan needs.
type needed map[Feature]bool

func (n needed) add(f Feature) { n[f] = true }

func (n *Netns) requires(set needed) {
	for _, l := range n.Links {
		switch l.Type {
		case Veth:
			set.add(FeatureVeth)
		case Bridge:
			set.add(FeatureBridge)
		case VXLAN:
			set.add(FeatureVXLAN)
		case IPIP:
			set.add(FeatureIPIP)
		case TUN:
			set.add(FeatureTun)
		case WireGuard:
			set.add(FeatureWireGuardOrTun)
		case Dummy:
			set.add(FeatureDummy)
		}
	}
	for _, s := range n.Sysctls {
		switch {
		case s.Key == "net.bridge.bridge-nf-call-iptables":
			set.add(FeatureBrNetfilter)
		case s.OfIPVS():
			set.add(FeatureIPVS)
		}
	}
	for i := range n.Qdiscs {
		if n.Qdiscs[i].Impairs() {
			set.add(FeatureNetem)
		}
		if n.Qdiscs[i].Rate > 0 {
			set.add(FeatureTBF)
		}
	}
	if len(n.XfrmStates)+len(n.XfrmPolicies) > 0 {
		set.add(FeatureESP)
	}
	if len(n.Sets) > 0 {
		set.add(FeatureIPSet)
	}
	if len(n.Virtual) > 0 {
		set.add(FeatureIPVS)
	}
	for i := range n.Tunnels {
		if !n.Tunnels[i].WireGuard() {
			set.add(FeatureTun)
		}
	}
	if len(n.Cut) > 0 {
		set.add(FeatureConntrack)
	}
	var listen []Listen
	for i := range n.Agents {
		listen = append(listen, n.Agents[i].Listen...)
	}
	for i := range n.Execs {
		listen = append(listen, n.Execs[i].Listen...)
	}
	if slices.ContainsFunc(listen, func(l Listen) bool { return l.Protocol == "sctp" }) {
		set.add(FeatureSCTP)
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
		set.add(FeatureIP6Tables)
	} else {
		set.add(FeatureIPTables)
	}
	if t.Name == "nat" {
		set.add(FeatureConntrack)
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
			set.add(FeatureMatchComment)
		case iptables.Mark:
			set.add(FeatureMatchMark)
		case iptables.CTState, iptables.State:
			set.add(FeatureMatchConntrack)
			set.add(FeatureConntrack)
		case iptables.AddrType:
			set.add(FeatureMatchAddrType)
		case iptables.Random:
			set.add(FeatureMatchStatistic)
		case iptables.Recent:
			set.add(FeatureMatchRecent)
		case iptables.MatchSet:
			set.add(FeatureMatchSet)
			set.add(FeatureIPSet)
		case iptables.MultiPort:
			set.add(FeatureMatchMultiPort)
		case iptables.Physdev, iptables.PhysdevIsIn:
			set.add(FeatureMatchPhysdev)
		case iptables.Limit:
			set.add(FeatureMatchLimit)
		case iptables.IPVS:
			set.add(FeatureMatchIPVS)
		case iptables.Proto:
			if m.Name == "sctp" {
				set.add(FeatureMatchSCTP)
			}
		}
	}
	switch r.Target.(type) {
	case iptables.OrMark, iptables.XorMark, iptables.SetMark:
		set.add(FeatureTargetMark)
	case iptables.NFLog:
		set.add(FeatureTargetNFLog)
	case iptables.DNAT:
		set.add(FeatureTargetDNAT)
	case iptables.Redirect:
		set.add(FeatureTargetRedirect)
	case iptables.Masquerade:
		set.add(FeatureTargetMasquerade)
	case iptables.Reject:
		set.add(FeatureTargetReject)
	}
}

func requiresNFTTable(set needed, t *nft.Table) {
	set.add(FeatureNFT)
	for i := range t.Sets {
		if s := &t.Sets[i]; s.Interval && len(s.Key) > 1 {
			set.add(FeatureNFTRanges)
		}
	}
	for i := range t.Chains {
		c := &t.Chains[i]
		if c.Type == "nat" {
			set.add(FeatureNFTNAT)
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
		set.add(FeatureNFTNAT)
	case nft.Reject:
		set.add(FeatureNFTReject)
	case nft.CTState, nft.CTStatus:
		set.add(FeatureConntrack)
		set.add(FeatureNFTCT)
	}
	fields, _ := nft.LookedUp(x)
	for _, f := range fields {
		switch {
		case f == nft.FibSrcType || f == nft.FibDstType:
			set.add(FeatureNFTFib)
		case f == nft.CTMark || f == nft.OrigDst || f == nft.OrigDst6 || f == nft.OrigDPort:
			set.add(FeatureNFTCT)
		case f.Modulus() > 0:
			set.add(FeatureNFTNumgen)
		}
	}
}
