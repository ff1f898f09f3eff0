package nftables

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Style is the policy style nftables.
type Style struct{}

var _ policy.Style = Style{}

// Name is nftables.
func (Style) Name() string { return "nftables" }

// The marks of a packet while it passes the chain of one pod.
const (
	accepted = 0x10000
	passed   = 0x20000 // by the Admin tier, to the network policies
)

// Names of the table and of the chains that every node with policies has.
const (
	tableName = "network-policies"
	pods      = "pods" // asks the maps
	deny      = "deny"
)

// before is the priority of the base chains: before iptables' filter tables, behind DNAT.
const before = -10

// Compile returns one table for all IP families.
func (Style) Compile(v policy.View) (plan.Netns, error) {
	var out plan.Netns
	if len(v.Pods) == 0 {
		return out, nil
	}
	c := &compiler{view: &v, table: plan.NFTTable{Family: "inet", Name: tableName, Origin: v.Origin()}, index: map[string]int{}}
	c.base()
	c.dispatch()
	for i := range v.Pods {
		c.pod(&v.Pods[i])
	}
	for _, s := range v.Sections {
		c.section(s)
	}
	c.denial()
	out.NFT = []plan.NFTTable{c.table}
	return out, nil
}

// compiler gathers the table of one node.
type compiler struct {
	view  *policy.View
	table plan.NFTTable
	index map[string]int // of chains
}

// chain makes sure that a chain is there.
func (c *compiler) chain(name string) *plan.NFTChain {
	i, ok := c.index[name]
	if !ok {
		i = len(c.table.Chains)
		c.index[name] = i
		c.table.Chains = append(c.table.Chains, plan.NFTChain{Name: name})
	}
	return &c.table.Chains[i]
}

// add appends a rule to a chain.
func (c *compiler) add(chain string, o plan.Origin, comment string, exprs ...plan.NFTExpr) {
	to := c.chain(chain)
	to.Rules = append(to.Rules, plan.NFTRule{Exprs: exprs, Comment: comment[:min(len(comment), plan.MaxNFTComment)], Origin: o})
}

func verdict(kind string) plan.NFTExpr { return plan.NFTVerdict{Kind: kind} }

// base adds the base chains: for what is forwarded; for what IPVS sends; and for what
// pods send to their own node, if policies hold there.
func (c *compiler) base() {
	hook := func(name string) {
		h := c.chain(name)
		h.Type, h.Hook, h.Priority, h.Policy = "filter", name, before, "accept"
	}
	o := c.view.Origin()
	hook("forward")
	c.add("forward", o, "", plan.NFTJump(pods))
	if c.view.Lab.Proxy.Mode == "ipvs" {
		hook("output")
		c.add("output", o, "what the node sends itself", plan.NFTMatch{Field: plan.NFTFibSrcType, Value: plan.NFTNumber(plan.NFTLocal)}, verdict("accept"))
		if c.view.MarksBalanced() {
			c.add("output", o, "sent by IPVS", plan.NFTOrMark(policy.Balanced))
		}
		c.add("output", o, "", plan.NFTJump(pods))
	}
	if c.view.Options.HostEgress {
		hook("input")
		c.known("input")
		for _, f := range c.families() {
			c.served(f)
			c.add("input", o, "", plan.NFTVMap{Fields: []plan.NFTField{f.src}, Map: f.name("egress")})
		}
	}
}

// known lets pass what belongs to a connection that was let pass before.
func (c *compiler) known(chain string) {
	o := c.view.Origin()
	c.add(chain, o, "", plan.NFTCTState{States: []string{"established", "related"}}, verdict("accept"))
	for _, f := range c.families() {
		if f.ipv6 {
			c.add(chain, o, "neighbour discovery", plan.NFTMatch{Field: plan.NFTICMPv6Type, Value: plan.NFTRange(133, 136)}, verdict("accept"))
		}
	}
}

// served leaves alone what is for services of IPVS: their endpoints are asked about.
func (c *compiler) served(f family) {
	o, served := c.view.Origin(), c.view.Served(f.ipv6)
	addrs := plan.NFTSet{Name: f.name("services"), Key: []plan.NFTType{f.addr}, Origin: o}
	for _, a := range served.Addrs {
		addrs.Elements = append(addrs.Elements, plan.NFTElement{Key: []plan.NFTValue{plan.NFTAddr(a)}})
	}
	ports := plan.NFTSet{Name: f.name("node-ports"), Key: []plan.NFTType{f.addr, plan.NFTProto, plan.NFTPort}, Origin: o}
	for _, m := range served.Ports {
		ports.Elements = append(ports.Elements, port(m))
	}
	if len(addrs.Elements) > 0 {
		c.table.Sets = append(c.table.Sets, addrs)
		c.add("input", o, "services", plan.NFTLookup{Fields: []plan.NFTField{f.dst}, Set: addrs.Name}, verdict("accept"))
	}
	if len(ports.Elements) > 0 {
		c.table.Sets = append(c.table.Sets, ports)
		c.add("input", o, "node ports", plan.NFTLookup{Fields: []plan.NFTField{f.dst, plan.NFTL4Proto, plan.NFTDPort}, Set: ports.Name}, verdict("accept"))
	}
}

// port is a port of an address as an element.
func port(m policy.Member) plan.NFTElement {
	return plan.NFTElement{Key: []plan.NFTValue{plan.NFTAddr(m.Addr), plan.NFTProtocol(string(m.Protocol)), plan.NFTNumber(uint32(m.Port))}}
}

// family is an IP family in the terms of nf_tables.
type family struct {
	ipv6     bool
	suffix   string
	addr     plan.NFTType
	number   uint32 // AF_INET or AF_INET6
	src, dst plan.NFTField
}

func (f family) name(of string) string { return of + f.suffix }

func (c *compiler) families() []family {
	var out []family
	for _, ipv6 := range c.view.Families() {
		if ipv6 {
			out = append(out, family{true, "6", plan.NFTIPv6, 10, plan.NFTIP6Src, plan.NFTIP6Dst})
			continue
		}
		out = append(out, family{false, "4", plan.NFTIPv4, 2, plan.NFTIPSrc, plan.NFTIPDst})
	}
	return out
}

// dispatch adds the chain that asks whose packet it is, and the maps that know.
func (c *compiler) dispatch() {
	o := c.view.Origin()
	c.known(pods)
	for _, f := range c.families() {
		itself := plan.NFTSet{Name: f.name("itself"), Key: []plan.NFTType{f.addr, f.addr}, Origin: o}
		egress := plan.NFTSet{Name: f.name("egress"), Key: []plan.NFTType{f.addr}, Data: []plan.NFTType{plan.NFTVerdictData}, Origin: o}
		ingress := plan.NFTSet{Name: f.name("ingress"), Key: []plan.NFTType{f.addr}, Data: []plan.NFTType{plan.NFTVerdictData}, Origin: o}
		for i := range c.view.Pods {
			p := &c.view.Pods[i]
			a, ok := addressOf(p.Pod, f.ipv6)
			if !ok {
				continue
			}
			key := plan.NFTAddr(a)
			itself.Elements = append(itself.Elements, plan.NFTElement{Key: []plan.NFTValue{key, key}})
			egress.Elements = append(egress.Elements, plan.NFTElement{Key: []plan.NFTValue{key}, Verdict: plan.NFTJump(podChain(p.Pod, policy.Egress))})
			ingress.Elements = append(ingress.Elements, plan.NFTElement{Key: []plan.NFTValue{key}, Verdict: plan.NFTJump(podChain(p.Pod, policy.Ingress))})
		}
		c.table.Sets = append(c.table.Sets, itself, egress, ingress)
		c.add(pods, o, "a pod reaches itself", plan.NFTLookup{Fields: []plan.NFTField{f.src, f.dst}, Set: itself.Name}, verdict("accept"))
		c.add(pods, o, "", plan.NFTVMap{Fields: []plan.NFTField{f.src}, Map: egress.Name})
		c.add(pods, o, "", plan.NFTVMap{Fields: []plan.NFTField{f.dst}, Map: ingress.Name})
	}
}

// denial adds the chain in which denied packets end. A reset for a packet that came in
// by a bridge would go past NAT: see policy.View.Deny.
func (c *compiler) denial() {
	o := c.view.Origin()
	if c.view.Options.Deny != policy.Reject {
		c.add(deny, o, "", verdict("drop"))
		return
	}
	c.add(deny, o, "", plan.NFTCTStatus{Status: []string{"dnat"}}, plan.NFTReject{With: "icmpx port-unreachable"})
	if c.view.MarksBalanced() {
		c.add(deny, o, "", marked(policy.Balanced), plan.NFTReject{With: "icmpx port-unreachable"})
	}
	c.add(deny, o, "", protocol(topology.TCP), plan.NFTReject{With: "tcp reset"})
	c.add(deny, o, "", plan.NFTReject{With: "icmpx port-unreachable"})
}

func protocol(p topology.Protocol) plan.NFTExpr {
	return plan.NFTMatch{Field: plan.NFTL4Proto, Value: plan.NFTProtocol(string(p))}
}

// addressOf is a pod's address in one family.
func addressOf(p *topology.Pod, ipv6 bool) (netip.Addr, bool) {
	for _, a := range p.Addrs {
		if a.Is6() == ipv6 {
			return a, true
		}
	}
	return netip.Addr{}, false
}
