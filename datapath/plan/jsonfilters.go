package plan

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
		Name    string   `json:"name"`
		Type    SetType  `json:"type"`
		Family  string   `json:"family,omitempty"` // inet or inet6, as ipset names them
		Members []string `json:"members"`
		Origin  string   `json:"origin,omitempty"`
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
		out.Sets = append(out.Sets, n.Sets[i].json())
	}
	for i := range n.Tables {
		out.Tables = append(out.Tables, n.Tables[i].json())
	}
	for i := range n.NFT {
		out.NFT = append(out.NFT, n.NFT[i].json())
	}
	for i := range n.Virtual {
		out.Virtual = append(out.Virtual, n.Virtual[i].json())
	}
	for i := range n.UDP {
		s := &n.UDP[i]
		out.UDP = append(out.UDP, jsonUDP{addrPortTexts(s.To), s.NodePort, addrPortTexts(s.Endpoints), s.Origin.String()})
	}
	for i := range n.Cut {
		out.Cut = append(out.Cut, n.Cut[i].json())
	}
}

func (s *Set) json() jsonSet {
	out := jsonSet{Name: s.Name, Type: s.Type, Members: s.Members(), Origin: s.Origin.String()}
	switch {
	case s.Type == BitmapPort:
	case s.IPv6:
		out.Family = "inet6"
	default:
		out.Family = "inet"
	}
	return out
}

func (v *VirtualServer) json() jsonVirtual {
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
