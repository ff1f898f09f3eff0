package flat

import (
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/topology"
)

// Names of chains.
const (
	services   = "services"
	everywhere = "everywhere"
	missed     = "service-endpoints-check"
	reject     = "reject-chain"
)

func (c *compiler) src() nft.Field {
	if c.ipv6 {
		return nft.IP6Src
	}
	return nft.IPSrc
}

func (c *compiler) dst() nft.Field {
	if c.ipv6 {
		return nft.IP6Dst
	}
	return nft.IPDst
}

// destination are the fields of a packet by which services are found.
func (c *compiler) destination() []nft.Field { return []nft.Field{c.dst(), nft.L4Proto, nft.DPort} }

var isNew = nft.CTState{States: []string{"new"}}

// chains adds all chains.
func (c *compiler) chains() {
	c.translation()
	c.dispatch()
	c.masquerade()
	c.filter()
	if len(c.firewalled.Elements) > 0 {
		check := []nft.Expr{isNew, nft.Lookup{Fields: c.destination(), Set: c.firewalled.Name},
			nft.Lookup{Fields: append(c.destination(), c.src()), Set: c.sources.Name, Not: true}, nft.Verdict{Kind: "drop"}}
		c.base("filter-prerouting-pre-dnat", "filter", "prerouting", -110, check)
		c.base("filter-output-pre-dnat", "filter", "output", -110, check)
	}
}

// add adds a chain; base one with a hook.
func (c *compiler) add(name string, rules ...[]nft.Expr) { c.base(name, "", "", 0, rules...) }

func (c *compiler) base(name, kind, hook string, priority int, rules ...[]nft.Expr) {
	chain := nft.Chain{Name: name, Type: kind, Hook: hook, Priority: priority}
	if hook != "" {
		chain.Policy = "accept"
	}
	for _, exprs := range rules {
		chain.Rules = append(chain.Rules, nft.Rule{Exprs: exprs, Origin: c.proxy})
	}
	c.table.Chains = append(c.table.Chains, chain)
}

// translation adds what the first packet of each connection meets before routing.
func (c *compiler) translation() {
	jump := []nft.Expr{nft.Jump(services)}
	c.base("nat-prerouting", "nat", "prerouting", -100, jump)
	c.base("nat-output", "nat", "output", -100, jump)
	find := func(in, kinds *nft.Set) []nft.Expr {
		return []nft.Expr{nft.MarkBy{Fields: c.destination(), Map: in.Name}, nft.VMap{Fields: []nft.Field{nft.CTMark}, Map: kinds.Name}}
	}
	c.add(services, find(c.services, c.kinds))
	if c.used[own] || c.used[own|remembers] {
		c.add(everywhere, find(c.everywhere, c.insideKinds))
	}
}

// masquerade adds what the first packet of each connection meets last. fully-random
// keeps two connections that are masqueraded at the same time from getting the same port.
func (c *compiler) masquerade() {
	masquerade := nft.Masquerade{FullyRandom: true}
	var rules [][]nft.Expr
	of := func(k class, conditions ...nft.Expr) {
		bits := nft.Match{Field: nft.CTMark, Mask: uint32(k), Value: nft.Number(uint32(k))}
		rules = append(rules, append(append([]nft.Expr{bits}, conditions...), masquerade))
	}
	of(everything)
	ofNode := []nft.Expr{nft.Match{Field: nft.FibSrcType, Value: nft.Number(nft.Local)}}
	if c.local.IsValid() {
		stranger := nft.Match{Field: c.src(), Not: true, Value: nft.Prefix(c.local)}
		of(foreign, stranger)
		// The node's address on the bridge of its pods counts as a pod's, as in kube-proxy's layout.
		ofNode = append([]nft.Expr{stranger}, ofNode...)
	}
	of(own, ofNode...)
	rules = append(rules, []nft.Expr{nft.CTStatus{Status: []string{"dnat"}}, nft.Lookup{Fields: []nft.Field{c.src(), c.dst()}, Set: c.hairpins.Name}, masquerade})
	c.base("nat-postrouting", "nat", "postrouting", 100, rules...)
}

// filter adds what refuses or drops packets that still have the address of a service: those
// without endpoints, those for other ports of a cluster IP, and for cluster IPs of no service.
func (c *compiler) filter() {
	lookup := nft.VMap{Fields: c.destination(), Map: c.undelivered.Name}
	jump := []nft.Expr{isNew, nft.Jump(missed)}
	c.base("filter-input", "filter", "input", 0, []nft.Expr{isNew, lookup})
	c.base("filter-forward", "filter", "forward", 0, jump)
	c.base("filter-output", "filter", "output", 0, jump)
	rules := [][]nft.Expr{{lookup}, {nft.Lookup{Fields: []nft.Field{c.dst()}, Set: c.clusterIPs.Name}, nft.Verdict{Kind: "goto", Chain: reject}}}
	if cidr := topology.PrefixOfFamily(c.view.Lab.Network.ServiceCIDRs, c.ipv6); cidr.IsValid() {
		rules = append(rules, []nft.Expr{nft.Match{Field: c.dst(), Value: nft.Prefix(cidr)}, nft.Verdict{Kind: "drop"}})
	}
	c.add(missed, rules...)
	c.add(reject, []nft.Expr{nft.Reject{}})
}
