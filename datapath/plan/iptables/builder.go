package iptables

import "github.com/netlab/netlab/datapath/plan/origin"

// Builder gathers the chains of a table.
type Builder struct {
	Table
	index map[string]int // of chains
}

// NewBuilder returns an empty table with room for a number of chains.
func NewBuilder(name string, ipv6 bool, chains int) Builder {
	return Builder{Table{Name: name, IPv6: ipv6, Chains: make([]Chain, 0, chains)}, make(map[string]int, chains)}
}

// Ensure makes sure that a chain exists; policy is that of a built-in one, "" for any
// other.
func (b *Builder) Ensure(name, policy string) *Chain {
	i, ok := b.index[name]
	if !ok {
		i = len(b.Chains)
		b.index[name] = i
		b.Chains = append(b.Chains, Chain{Name: name, Policy: policy})
	}
	return &b.Chains[i]
}

// Has reports whether a chain exists.
func (b *Builder) Has(name string) bool {
	_, ok := b.index[name]
	return ok
}

// Add appends a rule to a chain, making it where it is missing.
func (b *Builder) Add(chain string, o origin.Ref, target Target, matches ...Match) {
	to := b.Ensure(chain, "")
	to.Rules = append(to.Rules, Rule{Matches: matches, Target: target, Origin: o})
}

// Hook leads from a built-in chain to another, which exists from then on.
func (b *Builder) Hook(builtin, chain string, o origin.Ref, matches ...Match) {
	b.Ensure(builtin, "ACCEPT")
	b.Add(builtin, o, Jump{Chain: chain}, matches...)
	b.Ensure(chain, "")
}

// Refuse answers a packet with an ICMP error.
func Refuse(ipv6 bool) Reject {
	if ipv6 {
		return Reject{With: "icmp6-port-unreachable"}
	}
	return Reject{}
}
