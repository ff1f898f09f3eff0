package nftables

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// Backend is the proxy mode nftables, whose rules may have other layouts than kube-proxy's.
func Backend(others ...service.Layout) service.Backend {
	layouts := []topology.Layout{{Name: "kube-proxy"}}
	for _, l := range others {
		layouts = append(layouts, l.Layout)
	}
	return service.Backend{Compile: compile, Others: others, ProxyMode: topology.ProxyMode{
		Name:       "nftables",
		About:      "verdict maps of nf_tables, a chain per endpoint",
		Limits:     "no node ports on 127.0.0.1; node ports on one address of each family, unless others are named",
		Translates: true, NodePortSet: true, OwnsClusterIPs: true, RefusesOwn: true, FirewallFirst: true, Layouts: layouts,
	}}
}

// compile returns a table for each IP family.
func compile(v service.View) plan.Netns {
	var out plan.Netns
	for _, cidr := range v.Lab.Network.PodCIDRs {
		c := newCompiler(v, cidr)
		c.static()
		for i := range v.Ports {
			if p := &v.Ports[i]; p.ClusterIP.Is6() == c.ipv6 {
				c.servicePort(p)
			}
		}
		out.NFT = append(out.NFT, c.table)
	}
	return out
}

// compiler gathers the table of one node and one IP family.
type compiler struct {
	view     service.View
	ipv6     bool
	src, dst nft.Field
	addr     nft.Type
	local    netip.Prefix // sources that are pods; invalid: local traffic is not detected
	proxy    plan.Origin
	table    nft.Table
	chains   nft.Places
	sets     map[string]int
	taken    map[string]bool // elements of sets
}

func newCompiler(v service.View, podCIDR netip.Prefix) *compiler {
	c := &compiler{
		view: v, ipv6: podCIDR.Addr().Is6(), src: nft.IPSrc, dst: nft.IPDst, addr: nft.IPv4,
		proxy:  plan.Origin{Object: "proxy", File: v.Lab.Proxy.Origin.File, Line: v.Lab.Proxy.Origin.Line},
		chains: nft.Places{}, sets: map[string]int{}, taken: map[string]bool{},
	}
	c.table = nft.Table{Family: "ip", Name: tableName, Comment: "rules for kube-proxy", Origin: c.proxy}
	if c.ipv6 {
		c.table.Family, c.src, c.dst, c.addr = "ip6", nft.IP6Src, nft.IP6Dst, nft.IPv6
	}
	if v.Lab.Proxy.DetectLocal != topology.DetectNone {
		c.local = podCIDR
	}
	return c
}

// chain makes sure that a chain exists.
func (c *compiler) chain(name string) *nft.Chain {
	return c.chains.Chain(&c.table, name)
}

// add appends a rule to a chain.
func (c *compiler) add(chain string, o plan.Origin, exprs ...nft.Expr) { c.say(chain, o, "", exprs...) }

// say appends a rule with a comment.
func (c *compiler) say(chain string, o plan.Origin, comment string, exprs ...nft.Expr) {
	to := c.chain(chain)
	to.Rules = append(to.Rules, nft.Rule{Exprs: exprs, Comment: comment, Origin: o})
}

// set adds a set.
func (c *compiler) set(s nft.Set) {
	c.sets[s.Name] = len(c.table.Sets)
	c.table.Sets = append(c.table.Sets, s)
}

// put adds an element to a set. Of services that share an address and a port, the first one has
// it.
func (c *compiler) put(set string, e nft.Element) {
	s := &c.table.Sets[c.sets[set]]
	key := set + " " + s.Words(&nft.Element{Key: e.Key})
	if c.taken[key] {
		return
	}
	c.taken[key] = true
	e.Comment = e.Comment[:min(len(e.Comment), nft.MaxComment)]
	s.Elements = append(s.Elements, e)
}

func is(f nft.Field, v nft.Value) nft.Expr { return nft.Match{Field: f, Value: v} }

func isNot(f nft.Field, v nft.Value) nft.Expr { return nft.Match{Field: f, Not: true, Value: v} }

var drop = nft.Verdict{Kind: "drop"}
