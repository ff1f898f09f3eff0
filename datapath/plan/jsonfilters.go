package plan

import (
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// What happens to packets beyond routing, as JSON.
type (
	jsonQdisc struct {
		Dev      string  `json:"dev"`
		DelayUs  int64   `json:"delayMicroseconds,omitempty"`
		JitterUs int64   `json:"jitterMicroseconds,omitempty"`
		Loss     float64 `json:"loss,omitempty"`          // share of the packets
		Rate     uint64  `json:"bitsPerSecond,omitempty"` // 0: any
		Origin   string  `json:"origin,omitempty"`
	}
	jsonSet struct {
		Name    string     `json:"name"`
		Type    ipset.Type `json:"type"`
		Family  string     `json:"family,omitempty"` // inet or inet6, as ipset names them
		Members []string   `json:"members"`
		Origin  string     `json:"origin,omitempty"`
	}
	jsonVirtual struct {
		Address    string     `json:"address"`
		Protocol   string     `json:"protocol"`
		Scheduler  string     `json:"scheduler"`
		Flags      []string   `json:"flags,omitempty"`
		Persistent int        `json:"persistentSeconds,omitempty"`
		Real       []jsonReal `json:"realServers"`
		Origin     string     `json:"origin,omitempty"`
	}
	jsonReal struct {
		Address string `json:"address"`
		Weight  int    `json:"weight"`
		Origin  string `json:"origin,omitempty"`
	}
	jsonCut struct {
		Pod     string      `json:"pod"`
		Ingress bool        `json:"ingress"`
		Allow   []jsonAllow `json:"allow"`
		Origin  string      `json:"origin,omitempty"`
	}
	jsonAllow struct {
		Any      bool     `json:"anyPeer,omitempty"`
		Peers    []string `json:"peers,omitempty"`
		Protocol string   `json:"protocol,omitempty"`
		First    uint16   `json:"firstPort,omitempty"`
		Last     uint16   `json:"lastPort,omitempty"`
	}
)

func (n *Netns) jsonFilters(out *jsonNetns) {
	for _, q := range n.Qdiscs {
		out.Qdiscs = append(out.Qdiscs, jsonQdisc{q.Link, q.Delay.Microseconds(), q.Jitter.Microseconds(), q.Loss, q.Rate, q.Origin.String()})
	}
	for i := range n.Sets {
		out.Sets = append(out.Sets, jsonOfSet(&n.Sets[i]))
	}
	for i := range n.Tables {
		out.Tables = append(out.Tables, jsonOfTable(&n.Tables[i]))
	}
	for i := range n.NFT {
		out.NFT = append(out.NFT, jsonOfNFT(&n.NFT[i]))
	}
	for i := range n.Virtual {
		out.Virtual = append(out.Virtual, jsonOfVirtual(&n.Virtual[i]))
	}
	for i := range n.UDP {
		s := &n.UDP[i]
		out.UDP = append(out.UDP, jsonUDP{addrPortTexts(s.To), s.NodePort, addrPortTexts(s.Endpoints), s.Origin.String()})
	}
	for i := range n.Cut {
		out.Cut = append(out.Cut, n.Cut[i].json())
	}
}

func jsonOfSet(s *ipset.Set) jsonSet {
	out := jsonSet{Name: s.Name, Type: s.Type, Members: s.Members(), Origin: s.Origin.String()}
	switch {
	case s.Type == ipset.BitmapPort:
	case s.IPv6:
		out.Family = "inet6"
	default:
		out.Family = "inet"
	}
	return out
}

func jsonOfVirtual(v *ipvs.Server) jsonVirtual {
	out := jsonVirtual{Address: v.Addr.String(), Protocol: v.Proto, Scheduler: v.Scheduler, Flags: v.Flags,
		Persistent: v.Persistent, Real: make([]jsonReal, 0, len(v.Real)), Origin: v.Origin.String()}
	for _, r := range v.Real {
		out.Real = append(out.Real, jsonReal{r.Addr.String(), r.Weight, r.Origin.String()})
	}
	return out
}

func (c *Cut) json() jsonCut {
	out := jsonCut{Pod: c.Pod.String(), Ingress: c.Ingress, Allow: make([]jsonAllow, 0, len(c.Allow)), Origin: c.Origin.String()}
	for _, a := range c.Allow {
		allow := jsonAllow{Any: a.Peer == nil, Protocol: a.Proto, First: a.First, Last: a.Last}
		for _, p := range a.Peer {
			allow.Peers = append(allow.Peers, p.String())
		}
		out.Allow = append(out.Allow, allow)
	}
	return out
}

// Tables of nf_tables, as JSON.
type (
	jsonNFT struct {
		Family string         `json:"family"`
		Name   string         `json:"name"`
		Sets   []jsonNFTSet   `json:"sets,omitempty"`
		Chains []jsonNFTChain `json:"chains,omitempty"`
		Origin string         `json:"origin,omitempty"`
	}
	jsonNFTSet struct {
		Name     string   `json:"name"`
		Spec     string   `json:"spec"` // type ipv4_addr : verdict; flags interval
		Elements []string `json:"elements"`
		Origin   string   `json:"origin,omitempty"`
	}
	jsonNFTChain struct {
		Name     string     `json:"name"`
		Type     string     `json:"type,omitempty"` // of a base chain, like the next three
		Hook     string     `json:"hook,omitempty"`
		Priority *int       `json:"priority,omitempty"`
		Policy   string     `json:"policy,omitempty"`
		Rules    []jsonRule `json:"rules,omitempty"`
	}
)

func jsonOfNFT(t *nft.Table) jsonNFT {
	out := jsonNFT{Family: t.Family, Name: t.Name, Origin: t.Origin.String()}
	for i := range t.Sets {
		s := &t.Sets[i]
		set := jsonNFTSet{Name: s.Name, Spec: s.Spec(), Elements: make([]string, 0, len(s.Elements)), Origin: s.Origin.String()}
		for j := range s.Elements {
			set.Elements = append(set.Elements, s.Words(&s.Elements[j]))
		}
		out.Sets = append(out.Sets, set)
	}
	for i := range t.Chains {
		c := &t.Chains[i]
		chain := jsonNFTChain{Name: c.Name, Type: c.Type, Hook: c.Hook, Policy: c.Policy}
		if c.IsBase() {
			chain.Priority = &c.Priority
		}
		for j := range c.Rules {
			chain.Rules = append(chain.Rules, jsonRule{c.Rules[j].Words(), c.Rules[j].Origin.String()})
		}
		out.Chains = append(out.Chains, chain)
	}
	return out
}
