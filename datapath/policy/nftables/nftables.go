package nftables

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Style is the policy style nftables.
func Style() policy.Style {
	return policy.Style{Compile: compile, PolicyStyle: topology.PolicyStyle{Name: "nftables", About: "verdict maps of nf_tables", Conforms: true}}
}

// The marks of a packet while it passes the chain of one pod.
const (
	accepted = 0x10000
	passed   = 0x20000 // by the Admin tier, to the network policies
)

// Names of the table and of the chains that every node with policies has.
const (
	tableName = "network-policies"
	pods      = "pods" // looks up the maps
	deny      = "deny"
)

// before is the priority of the base chains: before iptables' filter tables, after DNAT.
const before = -10

// compile returns one table for all IP families.
func compile(v policy.View) (plan.Netns, error) {
	var out plan.Netns
	c := &compiler{view: &v, table: nft.Table{Family: "inet", Name: tableName, Origin: v.Origin()}, places: nft.Places{}}
	c.base()
	c.dispatch()
	for i := range v.Pods {
		c.pod(&v.Pods[i])
	}
	for _, s := range v.Sections {
		c.section(s)
	}
	c.denial()
	out.NFT = []nft.Table{c.table}
	return out, nil
}

// compiler gathers the table of one node.
type compiler struct {
	view   *policy.View
	table  nft.Table
	places nft.Places
}

// chain makes sure that a chain exists.
func (c *compiler) chain(name string) *nft.Chain {
	return c.places.Chain(&c.table, name)
}

// add appends a rule to a chain.
func (c *compiler) add(chain string, o plan.Origin, comment string, exprs ...nft.Expr) {
	to := c.chain(chain)
	to.Rules = append(to.Rules, nft.Rule{Exprs: exprs, Comment: comment[:min(len(comment), nft.MaxComment)], Origin: o})
}

func verdict(kind string) nft.Expr { return nft.Verdict{Kind: kind} }

// base adds the base chains: for what is forwarded; for what IPVS sends; and for what
// pods send to their own node, if policies apply there.
func (c *compiler) base() {
	hook := func(name string) {
		h := c.chain(name)
		h.Type, h.Hook, h.Priority, h.Policy = "filter", name, before, "accept"
	}
	o := c.view.Origin()
	hook("forward")
	c.add("forward", o, "", nft.Jump(pods))
	if c.view.Lab.Proxy.Mode.VirtualServers {
		hook("output")
		c.add("output", o, "what the node sends itself", nft.Match{Field: nft.FibSrcType, Value: nft.Number(nft.Local)}, verdict("accept"))
		if c.view.MarksBalanced() {
			c.add("output", o, "sent by IPVS", nft.OrMark(policy.Balanced))
		}
		c.add("output", o, "", nft.Jump(pods))
	}
	if c.view.Options.HostEgress {
		hook("input")
		c.known("input")
		for _, f := range c.families() {
			c.served(f)
			c.add("input", o, "", nft.VMap{Fields: []nft.Field{f.src}, Map: f.name("egress")})
		}
	}
}

// known accepts packets of connections that were accepted before.
func (c *compiler) known(chain string) {
	o := c.view.Origin()
	c.add(chain, o, "", nft.CTState{States: []string{"established", "related"}}, verdict("accept"))
	for _, f := range c.families() {
		if f.ipv6 {
			c.add(chain, o, "neighbour discovery", nft.Match{Field: nft.ICMPv6Type, Value: nft.Range(133, 136)}, verdict("accept"))
		}
	}
}

// served skips what is for services of IPVS: policies judge their endpoints.
func (c *compiler) served(f family) {
	o, served := c.view.Origin(), c.view.Served(f.ipv6)
	addrs := nft.Set{Name: f.name("services"), Key: []nft.Type{f.addr}, Origin: o}
	for _, a := range served.Addrs {
		addrs.Elements = append(addrs.Elements, nft.Element{Key: []nft.Value{nft.Addr(a)}})
	}
	ports := nft.Set{Name: f.name("node-ports"), Key: []nft.Type{f.addr, nft.Proto, nft.Port}, Origin: o}
	for _, m := range served.Ports {
		ports.Elements = append(ports.Elements, port(m))
	}
	if len(addrs.Elements) > 0 {
		c.table.Sets = append(c.table.Sets, addrs)
		c.add("input", o, "services", nft.Lookup{Fields: []nft.Field{f.dst}, Set: addrs.Name}, verdict("accept"))
	}
	if len(ports.Elements) > 0 {
		c.table.Sets = append(c.table.Sets, ports)
		c.add("input", o, "node ports", nft.Lookup{Fields: []nft.Field{f.dst, nft.L4Proto, nft.DPort}, Set: ports.Name}, verdict("accept"))
	}
}

// port is a port of an address as an element.
func port(m policy.Member) nft.Element {
	return nft.Element{Key: []nft.Value{nft.Addr(m.Addr), nft.Protocol(string(m.Protocol)), nft.Number(uint32(m.Port))}}
}

// family is an IP family in the terms of nf_tables.
type family struct {
	ipv6     bool
	suffix   string
	addr     nft.Type
	number   uint32 // AF_INET or AF_INET6
	src, dst nft.Field
}

func (f family) name(of string) string { return of + f.suffix }

func (c *compiler) families() []family {
	var out []family
	for _, ipv6 := range c.view.Families() {
		if ipv6 {
			out = append(out, family{true, "6", nft.IPv6, 10, nft.IP6Src, nft.IP6Dst})
			continue
		}
		out = append(out, family{false, "4", nft.IPv4, 2, nft.IPSrc, nft.IPDst})
	}
	return out
}

// dispatch adds the chain that finds a packet's pods, and the maps for that.
func (c *compiler) dispatch() {
	o := c.view.Origin()
	c.known(pods)
	for _, f := range c.families() {
		itself := nft.Set{Name: f.name("itself"), Key: []nft.Type{f.addr, f.addr}, Origin: o}
		egress := nft.Set{Name: f.name("egress"), Key: []nft.Type{f.addr}, Data: []nft.Type{nft.VerdictData}, Origin: o}
		ingress := nft.Set{Name: f.name("ingress"), Key: []nft.Type{f.addr}, Data: []nft.Type{nft.VerdictData}, Origin: o}
		for i := range c.view.Pods {
			p := &c.view.Pods[i]
			a := topology.OfFamily(p.Addrs, f.ipv6)
			if !a.IsValid() {
				continue
			}
			key := nft.Addr(a)
			itself.Elements = append(itself.Elements, nft.Element{Key: []nft.Value{key, key}})
			egress.Elements = append(egress.Elements, nft.Element{Key: []nft.Value{key}, Verdict: nft.Jump(podChain(p.Pod, policy.Egress))})
			ingress.Elements = append(ingress.Elements, nft.Element{Key: []nft.Value{key}, Verdict: nft.Jump(podChain(p.Pod, policy.Ingress))})
		}
		c.table.Sets = append(c.table.Sets, itself, egress, ingress)
		c.add(pods, o, "a pod reaches itself", nft.Lookup{Fields: []nft.Field{f.src, f.dst}, Set: itself.Name}, verdict("accept"))
		c.add(pods, o, "", nft.VMap{Fields: []nft.Field{f.src}, Map: egress.Name})
		c.add(pods, o, "", nft.VMap{Fields: []nft.Field{f.dst}, Map: ingress.Name})
	}
}

// denial adds the chain in which denied packets end. A reset for a packet that came in
// by a bridge would bypass NAT: see policy.View.Deny.
func (c *compiler) denial() {
	o := c.view.Origin()
	if c.view.Options.Deny != topology.DenyReject {
		c.add(deny, o, "", verdict("drop"))
		return
	}
	c.add(deny, o, "", nft.CTStatus{Status: []string{"dnat"}}, nft.Reject{With: "icmpx port-unreachable"})
	if c.view.MarksBalanced() {
		c.add(deny, o, "", marked(policy.Balanced), nft.Reject{With: "icmpx port-unreachable"})
	}
	c.add(deny, o, "", protocol(topology.TCP), nft.Reject{With: "tcp reset"})
	c.add(deny, o, "", nft.Reject{With: "icmpx port-unreachable"})
}

func protocol(p topology.Protocol) nft.Expr {
	return nft.Match{Field: nft.L4Proto, Value: nft.Protocol(string(p))}
}
