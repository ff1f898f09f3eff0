package plan

func (t *NFTTable) requires(set needed) {
	set.add(FeatureNFT, t.Origin)
	for i := range t.Sets {
		if s := &t.Sets[i]; s.Interval && len(s.Key) > 1 {
			set.add(FeatureNFTRanges, s.Origin)
		}
	}
	for i := range t.Chains {
		c := &t.Chains[i]
		if c.Type == "nat" {
			set.add(FeatureNFTNAT, t.Origin)
		}
		for j := range c.Rules {
			for _, x := range c.Rules[j].Exprs {
				requiresNFT(set, x, c.Rules[j].Origin)
			}
		}
	}
}

func requiresNFT(set needed, x NFTExpr, o Origin) {
	switch x.(type) {
	case NFTDNAT, NFTMasquerade:
		set.add(FeatureNFTNAT, o)
	case NFTReject:
		set.add(FeatureNFTReject, o)
	case NFTCTState, NFTCTStatus:
		set.add(FeatureConntrack, o)
		set.add(FeatureNFTCT, o)
	}
	for _, f := range NFTFieldsOf(x) {
		switch {
		case f == NFTFibSrcType || f == NFTFibDstType:
			set.add(FeatureNFTFib, o)
		case f == NFTCTMark || f == NFTOrigDst || f == NFTOrigDst6 || f == NFTOrigDPort:
			set.add(FeatureNFTCT, o)
		case f.Modulus() > 0:
			set.add(FeatureNFTNumgen, o)
		}
	}
}

// changed is the table as far as the edit makes it: what it needs of the kernel.
func (e *NFTEdit) changed() NFTTable {
	t := NFTTable{Family: e.Family, Name: e.Name, Sets: e.Sets, Chains: e.Chains, Origin: e.Origin}
	for i := range e.Elements {
		t.Sets = append(t.Sets[:len(t.Sets):len(t.Sets)], e.Elements[i].Set)
	}
	return t
}
