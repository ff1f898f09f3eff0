package plan

// Requires returns the features that the plan needs, in the order of AllFeatures.
// It depends on the plan alone, never on the machine.
func Requires(p *Plan) []Feature { return inOrder(needs(p)) }

// RequiredBy returns the origin of the first element of the plan that needs the
// feature: the line to show to whoever lacks it. It is zero when none does.
func RequiredBy(p *Plan, f Feature) Origin { return needs(p)[f] }

// Requires returns the features that the changes need, as Requires does of a plan:
// those of what is new.
func (c Changes) Requires() []Feature {
	p := Plan{Netns: append([]Netns{}, c.Create...)}
	for _, e := range c.Edit {
		n := e.Add
		n.Links = append(append([]Link{}, e.Add.Links...), e.Change.Links...)
		n.Sysctls = append(append([]Sysctl{}, e.Add.Sysctls...), e.Change.Sysctls...)
		n.Agents = append(append([]Agent{}, e.Add.Agents...), e.Change.Agents...)
		n.Qdiscs = append(append([]Qdisc{}, e.Add.Qdiscs...), e.Change.Qdiscs...)
		n.Sets = append(append([]Set{}, e.Add.Sets...), e.Change.Sets...)
		for _, s := range e.Sets {
			n.Sets = append(n.Sets, Set{Name: s.Name, Type: s.Type, Origin: s.Origin})
		}
		for _, v := range e.Virtual {
			n.Virtual = append(n.Virtual[:len(n.Virtual):len(n.Virtual)], v.Server)
		}
		n.Tables = nil
		for _, t := range e.Tables {
			n.Tables = append(n.Tables, Table{IPv6: t.IPv6, Name: t.Name, Chains: t.Set})
		}
		n.NFT = nil
		for i := range e.NFT {
			n.NFT = append(n.NFT, e.NFT[i].changed())
		}
		p.Netns = append(p.Netns, n)
	}
	return Requires(&p)
}

// needed maps the features that a plan needs to the first origin that needs each.
type needed map[Feature]Origin

func (n needed) add(f Feature, o Origin) {
	if first, ok := n[f]; !ok || first.File == "" && o.File != "" {
		n[f] = o
	}
}

func needs(p *Plan) needed {
	set := needed{}
	for i := range p.Netns {
		set.add(FeatureNetNS, p.Netns[i].Origin)
		p.Netns[i].requires(set)
	}
	return set
}

func (n *Netns) requires(set needed) {
	for _, l := range n.Links {
		switch l.Type {
		case Veth:
			set.add(FeatureVeth, l.Origin)
		case Bridge:
			set.add(FeatureBridge, l.Origin)
		case VXLAN:
			set.add(FeatureVXLAN, l.Origin)
		case Dummy:
			set.add(FeatureDummy, l.Origin)
		}
	}
	for _, s := range n.Sysctls {
		switch {
		case s.Key == "net.bridge.bridge-nf-call-iptables":
			set.add(FeatureBrNetfilter, n.Origin)
		case s.OfIPVS():
			set.add(FeatureIPVS, n.Origin)
		}
	}
	for i := range n.Qdiscs {
		if n.Qdiscs[i].Impairs() {
			set.add(FeatureNetem, n.Qdiscs[i].Origin)
		}
		if n.Qdiscs[i].Rate > 0 {
			set.add(FeatureTBF, n.Qdiscs[i].Origin)
		}
	}
	for i := range n.Sets {
		set.add(FeatureIPSet, n.Sets[i].Origin)
	}
	for i := range n.Virtual {
		set.add(FeatureIPVS, n.Virtual[i].Origin)
	}
	for i := range n.Cut {
		set.add(FeatureConntrack, n.Cut[i].Origin)
	}
	for _, a := range n.Agents {
		for _, l := range a.Listen {
			if l.Protocol == "sctp" {
				set.add(FeatureSCTP, a.Origin)
			}
		}
	}
	for i := range n.Tables {
		n.Tables[i].requires(set)
	}
	for i := range n.NFT {
		n.NFT[i].requires(set)
	}
}

func (t *Table) requires(set needed) {
	if t.IPv6 {
		set.add(FeatureIP6Tables, t.origin())
	} else {
		set.add(FeatureIPTables, t.origin())
	}
	if t.Name == "nat" {
		set.add(FeatureConntrack, t.origin())
	}
	for i := range t.Chains {
		for j := range t.Chains[i].Rules {
			t.Chains[i].Rules[j].requires(set)
		}
	}
}

func (r *Rule) requires(set needed) {
	for _, m := range r.Matches {
		switch m := m.(type) {
		case Comment:
			set.add(FeatureMatchComment, r.Origin)
		case Mark:
			set.add(FeatureMatchMark, r.Origin)
		case CTState:
			set.add(FeatureMatchConntrack, r.Origin)
			set.add(FeatureConntrack, r.Origin)
		case AddrType:
			set.add(FeatureMatchAddrType, r.Origin)
		case Random:
			set.add(FeatureMatchStatistic, r.Origin)
		case Recent:
			set.add(FeatureMatchRecent, r.Origin)
		case MatchSet:
			set.add(FeatureMatchSet, r.Origin)
			set.add(FeatureIPSet, r.Origin)
		case MultiPort:
			set.add(FeatureMatchMultiPort, r.Origin)
		case Physdev, PhysdevIsIn:
			set.add(FeatureMatchPhysdev, r.Origin)
		case Limit:
			set.add(FeatureMatchLimit, r.Origin)
		case IPVS:
			set.add(FeatureMatchIPVS, r.Origin)
		case Proto:
			if m.Name == "sctp" {
				set.add(FeatureMatchSCTP, r.Origin)
			}
		}
	}
	switch r.Target.(type) {
	case OrMark, XorMark, SetMark:
		set.add(FeatureTargetMark, r.Origin)
	case NFLog:
		set.add(FeatureTargetNFLog, r.Origin)
	case DNAT:
		set.add(FeatureTargetDNAT, r.Origin)
	case Masquerade:
		set.add(FeatureTargetMasquerade, r.Origin)
	case Reject:
		set.add(FeatureTargetReject, r.Origin)
	}
}

// origin is the first of the table's rules that somebody wrote.
func (t *Table) origin() Origin {
	for i := range t.Chains {
		for j := range t.Chains[i].Rules {
			if o := t.Chains[i].Rules[j].Origin; o.File != "" {
				return o
			}
		}
	}
	return Origin{}
}
