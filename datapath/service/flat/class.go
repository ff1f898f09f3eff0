package flat

import (
	"strconv"

	"github.com/netlab/netlab/datapath/plan/nft"
)

// class is what the map of services says of a destination, and then the mark of the
// connection: how many endpoints there are, and what else the chains have to know.
type class uint32

// The parts of a class.
const (
	count class = 0xffff
	// onNode: only the endpoints of this node are chosen from.
	onNode class = 0x10000
	// outside: pods and the node itself choose from all endpoints, others from the node's.
	outside class = 0x20000
	// remembers: clients stay with their endpoints.
	remembers class = 0x40000
	// What is masqueraded: everything; what does not come from pods; what the node sends.
	everything class = 0x100000
	foreign    class = 0x200000
	own        class = 0x400000
)

// fewest is up to how many endpoints there are chains in any case, and beyond it up to
// the next power of two.
const fewest = 4

// chain is the chain of a class: what is masqueraded is in its name since the chain puts it
// into the mark again.
func (k class) chain() string {
	name := "cluster"
	switch {
	case k&outside != 0:
		name = "external-local"
	case k&onNode != 0:
		name = "local"
	}
	for _, part := range []struct {
		bit  class
		name string
	}{{everything, "-masqueraded"}, {foreign, "-internal"}, {own, "-inside"}} {
		if k&part.bit != 0 {
			name += part.name
		}
	}
	if k&remembers != 0 {
		return name + "-affinity"
	}
	return name + "-" + strconv.Itoa(int(k&count))
}

// dispatch adds the classes that occur, with a chain for each number of endpoints. Those of
// pods and the node have a map of their own: the kernel takes no rules by which a packet
// could be sent in circles, whatever its mark is.
func (c *compiler) dispatch() {
	top := fewest
	for top < c.most {
		top *= 2
	}
	for _, kind := range []class{0, everything, foreign, own, onNode, onNode | everything, onNode | foreign, onNode | outside} {
		for _, k := range []class{kind, kind | remembers} {
			if !c.used[k] {
				continue
			}
			first, last := class(1), class(top)
			if k&outside != 0 {
				first = 0
			}
			if k&remembers != 0 {
				first, last = 0, 0
			}
			for n := first; n <= last; n++ {
				k := k | n
				kinds := c.kinds
				if k&own != 0 {
					kinds = c.insideKinds
				}
				kinds.Elements = append(kinds.Elements, nft.Element{Key: []nft.Value{nft.Number(uint32(k))}, Verdict: nft.Verdict{Kind: "goto", Chain: k.chain()}})
				c.choice(k)
			}
		}
	}
}

// choice adds the chain that chooses an endpoint for a class.
func (c *compiler) choice(k class) {
	chain := nft.Chain{Name: k.chain()}
	rule := func(exprs ...nft.Expr) { chain.Rules = append(chain.Rules, nft.Rule{Exprs: exprs, Origin: c.proxy}) }
	away := nft.Verdict{Kind: "goto", Chain: everywhere}
	if k&outside != 0 && c.local.IsValid() {
		rule(nft.Match{Field: c.src(), Value: nft.Prefix(c.local)}, away)
	}
	if k&outside != 0 {
		rule(nft.Match{Field: nft.FibSrcType, Value: nft.Number(nft.Local)}, away)
	}
	if k&remembers != 0 {
		rule(nft.VMap{Fields: append(c.destination(), nft.CTMark), Map: c.affine.Name})
	} else if n := int(k & count); n > 0 {
		rule(nft.MarkBy{Fields: []nft.Field{nft.RandomFrom(n, uint32(k&^count))}},
			nft.DNAT{IPv6: c.ipv6, OneFamily: true, Fields: append(c.destination(), nft.CTMark), Map: c.endpoints.Name})
	}
	c.table.Chains = append(c.table.Chains, chain)
}
