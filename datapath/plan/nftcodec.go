package plan

import "fmt"

func (e *encoder) nft(list []NFTTable) {
	e.uint(uint64(len(list)))
	for i := range list {
		t := &list[i]
		e.origin(t.Origin)
		e.string(t.Family)
		e.string(t.Name)
		e.uint(uint64(len(t.Sets)))
		for j := range t.Sets {
			e.nftSet(&t.Sets[j])
		}
		e.uint(uint64(len(t.Chains)))
		for j := range t.Chains {
			e.nftChain(&t.Chains[j])
		}
	}
}

func (d *decoder) nft() []NFTTable {
	list := makeList[NFTTable](d)
	for i := range list {
		t := &list[i]
		t.Origin, t.Family, t.Name = d.origin(), d.string(), d.string()
		t.Sets = makeList[NFTSet](d)
		for j := range t.Sets {
			t.Sets[j] = d.nftSet()
		}
		t.Chains = makeList[NFTChain](d)
		for j := range t.Chains {
			t.Chains[j] = d.nftChain()
		}
	}
	return list
}

func (e *encoder) nftSet(s *NFTSet) {
	e.origin(s.Origin)
	e.string(s.Name)
	e.nftTypes(s.Key)
	e.nftTypes(s.Data)
	e.bool(s.Interval)
	e.uint(uint64(len(s.Elements)))
	for i := range s.Elements {
		x := &s.Elements[i]
		e.nftValues(x.Key)
		e.nftValues(x.Data)
		if s.HasVerdicts() {
			e.string(x.Verdict.Kind)
			e.string(x.Verdict.Chain)
		}
	}
}

func (d *decoder) nftSet() NFTSet {
	s := NFTSet{Origin: d.origin(), Name: d.string(), Key: d.nftTypes(), Data: d.nftTypes(), Interval: d.bool()}
	s.Elements = makeList[NFTElement](d)
	for i := range s.Elements {
		x := &s.Elements[i]
		x.Key, x.Data = d.nftValues(), d.nftValues()
		if s.HasVerdicts() {
			x.Verdict = NFTVerdict{Kind: d.string(), Chain: d.string()}
		}
	}
	return s
}

func (e *encoder) nftTypes(list []NFTType) {
	e.uint(uint64(len(list)))
	for _, t := range list {
		e.string(string(t))
	}
}

func (d *decoder) nftTypes() []NFTType {
	list := makeList[NFTType](d)
	for i := range list {
		list[i] = NFTType(d.string())
	}
	return list
}

func (e *encoder) nftValues(list []NFTValue) {
	e.uint(uint64(len(list)))
	for _, v := range list {
		e.nftValue(v)
	}
}

func (d *decoder) nftValues() []NFTValue {
	list := makeList[NFTValue](d)
	for i := range list {
		list[i] = d.nftValue()
	}
	return list
}

func (e *encoder) nftValue(v NFTValue) {
	e.prefix(v.Prefix)
	e.uint(uint64(v.First))
	e.uint(uint64(v.Last))
	e.string(v.Name)
}

func (d *decoder) nftValue() NFTValue {
	return NFTValue{Prefix: d.prefix(), First: uint32(d.uint()), Last: uint32(d.uint()), Name: d.string()}
}

func (e *encoder) nftChain(c *NFTChain) {
	e.string(c.Name)
	e.string(c.Type)
	e.string(c.Hook)
	e.uint(uint64(uint32(c.Priority)))
	e.string(c.Policy)
	e.uint(uint64(len(c.Rules)))
	for i := range c.Rules {
		r := &c.Rules[i]
		e.origin(r.Origin)
		e.string(r.Raw)
		e.comment(r.Comment)
		e.uint(uint64(len(r.Exprs)))
		for _, x := range r.Exprs {
			e.nftExpr(x)
		}
	}
}

func (d *decoder) nftChain() NFTChain {
	c := NFTChain{Name: d.string(), Type: d.string(), Hook: d.string(), Priority: int(int32(d.uint())), Policy: d.string()}
	c.Rules = makeList[NFTRule](d)
	for i := range c.Rules {
		r := &c.Rules[i]
		r.Origin, r.Raw, r.Comment = d.origin(), d.string(), d.comment()
		r.Exprs = makeList[NFTExpr](d)
		for j := range r.Exprs {
			r.Exprs[j] = d.nftExpr()
		}
	}
	return c
}

// Tags of the expressions.
const (
	tagNFTMatch = iota + 1
	tagNFTCTState
	tagNFTCTStatus
	tagNFTLookup
	tagNFTVMap
	tagNFTSetMark
	tagNFTCounter
	tagNFTNoTrack
	tagNFTVerdict
	tagNFTReject
	tagNFTDNAT
	tagNFTMasquerade
)

func (e *encoder) nftFields(list []NFTField) {
	e.uint(uint64(len(list)))
	for _, f := range list {
		e.string(string(f))
	}
}

func (d *decoder) nftFields() []NFTField {
	list := makeList[NFTField](d)
	for i := range list {
		list[i] = NFTField(d.string())
	}
	return list
}

func (e *encoder) nftExpr(x NFTExpr) {
	switch x := x.(type) {
	case NFTMatch:
		e.tag(tagNFTMatch)
		e.string(string(x.Field))
		e.bool(x.Not)
		e.uint(uint64(x.Mask))
		e.nftValue(x.Value)
	case NFTCTState:
		e.tag(tagNFTCTState)
		e.strings(x.States)
	case NFTCTStatus:
		e.tag(tagNFTCTStatus)
		e.strings(x.Status)
	case NFTLookup:
		e.tag(tagNFTLookup)
		e.nftFields(x.Fields)
		e.string(x.Set)
		e.bool(x.Not)
	case NFTVMap:
		e.tag(tagNFTVMap)
		e.nftFields(x.Fields)
		e.string(x.Map)
	case NFTSetMark:
		e.tag(tagNFTSetMark)
		e.bool(x.CT)
		e.uint(uint64(x.And))
		e.uint(uint64(x.Xor))
	case NFTCounter:
		e.tag(tagNFTCounter)
	case NFTNoTrack:
		e.tag(tagNFTNoTrack)
	case NFTVerdict:
		e.tag(tagNFTVerdict)
		e.string(x.Kind)
		e.string(x.Chain)
	case NFTReject:
		e.tag(tagNFTReject)
		e.string(x.With)
	case NFTDNAT:
		e.tag(tagNFTDNAT)
		e.bool(x.IPv6)
		e.nftValue(x.To)
		e.uint(uint64(x.Port))
		e.nftFields(x.Fields)
		e.string(x.Map)
	case NFTMasquerade:
		e.tag(tagNFTMasquerade)
		e.bool(x.FullyRandom)
	default:
		e.err = fmt.Errorf("encode plan: unknown nft expression %T", x)
	}
}

func (d *decoder) nftExpr() NFTExpr {
	switch tag := d.byte(); tag {
	case tagNFTMatch:
		return NFTMatch{Field: NFTField(d.string()), Not: d.bool(), Mask: uint32(d.uint()), Value: d.nftValue()}
	case tagNFTCTState:
		return NFTCTState{States: d.strings()}
	case tagNFTCTStatus:
		return NFTCTStatus{Status: d.strings()}
	case tagNFTLookup:
		return NFTLookup{Fields: d.nftFields(), Set: d.string(), Not: d.bool()}
	case tagNFTVMap:
		return NFTVMap{Fields: d.nftFields(), Map: d.string()}
	case tagNFTSetMark:
		return NFTSetMark{CT: d.bool(), And: uint32(d.uint()), Xor: uint32(d.uint())}
	case tagNFTCounter:
		return NFTCounter{}
	case tagNFTNoTrack:
		return NFTNoTrack{}
	case tagNFTVerdict:
		return NFTVerdict{Kind: d.string(), Chain: d.string()}
	case tagNFTReject:
		return NFTReject{With: d.string()}
	case tagNFTDNAT:
		return NFTDNAT{IPv6: d.bool(), To: d.nftValue(), Port: uint16(d.uint()), Fields: d.nftFields(), Map: d.string()}
	case tagNFTMasquerade:
		return NFTMasquerade{FullyRandom: d.bool()}
	default:
		d.unknown("nft expression", tag)
		return nil
	}
}
