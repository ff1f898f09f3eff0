package plan

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// MarshalJSON returns the plan for other programs: names and numbers as the tools print
// them, rules as input for iptables-restore, each with the object that it serves.
func (p *Plan) MarshalJSON() ([]byte, error) {
	out := jsonPlan{Lab: p.Lab, Digest: p.Digest(), Netns: make([]jsonNetns, 0, len(p.Netns))}
	for i := range p.Netns {
		out.Netns = append(out.Netns, p.Netns[i].json())
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("plan %q: %w", p.Lab, err)
	}
	return b, nil
}

type (
	jsonPlan struct {
		Lab    string      `json:"lab"`
		Digest string      `json:"digest"`
		Netns  []jsonNetns `json:"netns"`
	}
	jsonNetns struct {
		Name    string            `json:"name"`
		Kind    Kind              `json:"kind"`
		IPv6    bool              `json:"ipv6"`
		Origin  string            `json:"origin,omitempty"`
		Links   []jsonLink        `json:"links,omitempty"`
		Addrs   []jsonItem        `json:"addresses,omitempty"`
		Routes  []jsonItem        `json:"routes,omitempty"`
		Neighs  []jsonItem        `json:"neighbours,omitempty"`
		FDB     []jsonItem        `json:"fdb,omitempty"`
		Sysctls map[string]string `json:"sysctls,omitempty"`
		Qdiscs  []jsonQdisc       `json:"qdiscs,omitempty"`
		Sets    []jsonSet         `json:"sets,omitempty"`
		Tables  []jsonTable       `json:"tables,omitempty"`
		NFT     []jsonNFT         `json:"nftables,omitempty"`
		Virtual []jsonVirtual     `json:"virtualServers,omitempty"`
		UDP     []jsonUDP         `json:"udp,omitempty"`
		Cut     []jsonCut         `json:"cut,omitempty"`
		Agents  []jsonAgent       `json:"agents,omitempty"`
		Execs   []jsonExec        `json:"programs,omitempty"`
	}
	jsonLink struct {
		Name    string     `json:"name"`
		Type    LinkType   `json:"type"`
		MTU     int        `json:"mtu"`
		MAC     string     `json:"mac,omitempty"`
		Master  string     `json:"master,omitempty"`
		Hairpin bool       `json:"hairpin,omitempty"`
		Peer    *jsonPeer  `json:"peer,omitempty"`
		VXLAN   *jsonVXLAN `json:"vxlan,omitempty"`
		Origin  string     `json:"origin,omitempty"`
	}
	jsonPeer struct {
		Netns string `json:"netns"`
		Link  string `json:"link"`
	}
	jsonVXLAN struct {
		ID       int    `json:"id"`
		Port     int    `json:"port"`
		Local    string `json:"local"`
		Dev      string `json:"dev"`
		Learning bool   `json:"learning"`
	}
	// jsonItem is an entry of one of the kernel's tables.
	jsonItem struct {
		Dev    string   `json:"dev,omitempty"`
		To     string   `json:"to,omitempty"`
		Addr   string   `json:"address,omitempty"`
		Via    string   `json:"via,omitempty"`
		More   []string `json:"more,omitempty"` // further next hops
		MAC    string   `json:"mac,omitempty"`
		OnLink bool     `json:"onlink,omitempty"`
		Local  bool     `json:"local,omitempty"` // a route in the table local
		Origin string   `json:"origin,omitempty"`
	}
	jsonTable struct {
		Name   string      `json:"name"`
		Family string      `json:"family"`
		Chains []jsonChain `json:"chains"`
	}
	jsonChain struct {
		Name   string     `json:"name"`
		Policy string     `json:"policy,omitempty"`
		Rules  []jsonRule `json:"rules,omitempty"`
	}
	jsonRule struct {
		Rule   string `json:"rule"`
		Origin string `json:"origin,omitempty"`
	}
	jsonAgent struct {
		Name   string      `json:"name"`
		Node   string      `json:"node,omitempty"`
		Listen []string    `json:"listen"`
		Health *jsonHealth `json:"health,omitempty"`
		Origin string      `json:"origin,omitempty"`
	}
	jsonHealth struct {
		Namespace      string `json:"namespace"`
		Service        string `json:"service"`
		LocalEndpoints int    `json:"localEndpoints"`
	}
	jsonUDP struct {
		To        []string `json:"to"`
		NodePort  uint16   `json:"nodePort,omitempty"`
		Endpoints []string `json:"endpoints"`
		Origin    string   `json:"origin,omitempty"`
	}
	jsonExec struct {
		Name   string   `json:"name"`
		Argv   []string `json:"argv"`
		Env    []string `json:"env,omitempty"`
		Origin string   `json:"origin,omitempty"`
	}
)

func (n *Netns) json() jsonNetns {
	out := jsonNetns{Name: n.Name, Kind: n.Kind, IPv6: n.IPv6, Origin: n.Origin.String()}
	for i := range n.Links {
		out.Links = append(out.Links, n.Links[i].json())
	}
	for _, a := range n.Addrs {
		out.Addrs = append(out.Addrs, jsonItem{Dev: a.Link, Addr: a.Prefix.String(), Origin: a.Origin.String()})
	}
	for _, r := range n.Routes {
		item := jsonItem{Dev: r.Dev, To: r.To.String(), OnLink: r.OnLink, Local: r.Local, Origin: r.Origin.String()}
		if r.Via.IsValid() {
			item.Via = r.Via.String()
		}
		for _, via := range r.More {
			item.More = append(item.More, via.String())
		}
		out.Routes = append(out.Routes, item)
	}
	for _, x := range n.Neighs {
		out.Neighs = append(out.Neighs, jsonItem{Dev: x.Link, Addr: x.Addr.String(), MAC: mac(x.MAC), Origin: x.Origin.String()})
	}
	for _, f := range n.FDB {
		out.FDB = append(out.FDB, jsonItem{Dev: f.Link, To: f.Dst.String(), MAC: mac(f.MAC), Origin: f.Origin.String()})
	}
	for _, s := range n.Sysctls {
		if out.Sysctls == nil {
			out.Sysctls = map[string]string{}
		}
		out.Sysctls[s.Key] = s.Value
	}
	n.jsonFilters(&out)
	for _, a := range n.Agents {
		agent := jsonAgent{Name: a.Name, Node: a.Node, Listen: []string{}, Origin: a.Origin.String()}
		if a.Health != (Health{}) {
			agent.Health = &jsonHealth{a.Health.Namespace, a.Health.Service, a.Health.LocalEndpoints}
		}
		for _, l := range a.Listen {
			agent.Listen = append(agent.Listen, fmt.Sprintf("%s/%d", l.Protocol, l.Port))
		}
		out.Agents = append(out.Agents, agent)
	}
	for _, x := range n.Execs {
		out.Execs = append(out.Execs, jsonExec{x.Name, x.Argv, x.Env, x.Origin.String()})
	}
	return out
}

func addrPortTexts(list []netip.AddrPort) []string {
	out := make([]string, 0, len(list))
	for _, a := range list {
		out = append(out, a.String())
	}
	return out
}

func (l *Link) json() jsonLink {
	out := jsonLink{Name: l.Name, Type: l.Type, MTU: l.MTU, Master: l.Master, Hairpin: l.Hairpin, Origin: l.Origin.String()}
	if l.MAC != ([6]byte{}) {
		out.MAC = mac(l.MAC)
	}
	switch l.Type {
	case Veth:
		out.Peer = &jsonPeer{l.Peer.Netns, l.Peer.Link}
	case VXLAN:
		v := l.VXLAN
		out.VXLAN = &jsonVXLAN{v.ID, v.Port, v.Local.String(), v.Dev, v.Learning}
	}
	return out
}

func jsonOfTable(t *iptables.Table) jsonTable {
	out := jsonTable{Name: t.Name, Family: "ip", Chains: make([]jsonChain, 0, len(t.Chains))}
	if t.IPv6 {
		out.Family = "ip6"
	}
	for i := range t.Chains {
		c := &t.Chains[i]
		chain := jsonChain{Name: c.Name, Policy: c.Policy}
		for j := range c.Rules {
			chain.Rules = append(chain.Rules, jsonRule{c.Rules[j].Restore(c.Name), c.Rules[j].Origin.String()})
		}
		out.Chains = append(out.Chains, chain)
	}
	return out
}
