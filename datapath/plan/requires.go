package plan

// Requires returns the features that the plan needs, in the order of AllFeatures.
// It depends on the plan alone, never on the machine.
func Requires(p *Plan) []Feature {
	set := map[Feature]bool{}
	for i := range p.Netns {
		set[FeatureNetNS] = true
		p.Netns[i].requires(set)
	}
	return inOrder(set)
}

func (n *Netns) requires(set map[Feature]bool) {
	for _, l := range n.Links {
		switch l.Type {
		case Veth:
			set[FeatureVeth] = true
		case Bridge:
			set[FeatureBridge] = true
		case VXLAN:
			set[FeatureVXLAN] = true
		}
	}
	for _, s := range n.Sysctls {
		if s.Key == "net.bridge.bridge-nf-call-iptables" {
			set[FeatureBrNetfilter] = true
		}
	}
	for _, a := range n.Agents {
		for _, l := range a.Listen {
			if l.Protocol == "sctp" {
				set[FeatureSCTP] = true
			}
		}
	}
	for i := range n.Tables {
		n.Tables[i].requires(set)
	}
}

func (t *Table) requires(set map[Feature]bool) {
	if t.IPv6 {
		set[FeatureIP6Tables] = true
	} else {
		set[FeatureIPTables] = true
	}
	if t.Name == "nat" {
		set[FeatureConntrack] = true
	}
	for i := range t.Chains {
		for j := range t.Chains[i].Rules {
			t.Chains[i].Rules[j].requires(set)
		}
	}
}

func (r *Rule) requires(set map[Feature]bool) {
	for _, m := range r.Matches {
		switch m.(type) {
		case Comment:
			set[FeatureMatchComment] = true
		case Mark:
			set[FeatureMatchMark] = true
		case CTState:
			set[FeatureMatchConntrack] = true
			set[FeatureConntrack] = true
		case AddrType:
			set[FeatureMatchAddrType] = true
		case Random:
			set[FeatureMatchStatistic] = true
		}
	}
	switch r.Target.(type) {
	case OrMark, XorMark:
		set[FeatureTargetMark] = true
	case DNAT:
		set[FeatureTargetDNAT] = true
	case Masquerade:
		set[FeatureTargetMasquerade] = true
	case Reject:
		set[FeatureTargetReject] = true
	}
}
