package calico

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// leaf is an address and the chain of its pod.
type leaf struct {
	addr  netip.Addr
	chain string
	o     plan.Origin
}

// Splitting takes splitBits at a time, and stops where few addresses are left.
const (
	splitBits = 4
	fewLeaves = 4
)

// dispatch adds the tree of one direction.
func (c *compiler) dispatch(root string) {
	c.Ensure(root, "")
	var leaves []leaf
	for i := range c.View.Pods {
		p := &c.View.Pods[i]
		if a, ok := c.Address(p.Pod); ok {
			chain := endpointChain(root, p.Pod)
			leaves = append(leaves, leaf{a.Addr(), chain, policy.PodOrigin(p.Pod)})
		}
	}
	slices.SortFunc(leaves, func(a, b leaf) int { return a.addr.Compare(b.addr) })
	c.split(root, root, leaves)
}

// split adds to a chain what leads to the leaves, which are sorted: a rule for each, or
// for each group of those that begin with the same bits.
func (c *compiler) split(root, chain string, leaves []leaf) {
	if len(leaves) <= fewLeaves {
		for _, l := range leaves {
			c.leaf(root, chain, l)
		}
		return
	}
	bits := common(leaves[0].addr, leaves[len(leaves)-1].addr) + splitBits
	bits = min(bits, leaves[0].addr.BitLen())
	for len(leaves) > 0 {
		group, _ := leaves[0].addr.Prefix(bits)
		n := 1
		for n < len(leaves) && group.Contains(leaves[n].addr) {
			n++
		}
		if n == 1 {
			c.leaf(root, chain, leaves[0])
		} else {
			branch := root + "-" + policy.Hash(28-len(root)-1, group.String())
			c.Add(chain, c.View.Origin(), iptables.Goto{Chain: branch}, match(root, group))
			c.split(root, branch, leaves[:n])
		}
		leaves = leaves[n:]
	}
}

// leaf adds to a chain what leads to a pod's own. What the pod sends to itself, by a service,
// goes back instead: no policy applies to it.
func (c *compiler) leaf(root, chain string, l leaf) {
	own := topology.Single(l.addr)
	c.Add(chain, l.o, iptables.Return{}, iptables.Src{Prefix: own}, iptables.Dst{Prefix: own})
	c.Add(chain, l.o, iptables.Goto{Chain: l.chain}, match(root, own))
}

// match is the condition of one of the trees.
func match(root string, p netip.Prefix) iptables.Match {
	if root == from {
		return iptables.Src{Prefix: p}
	}
	return iptables.Dst{Prefix: p}
}

// common is how many bits two addresses begin with in common.
func common(a, b netip.Addr) int {
	for n := a.BitLen(); ; n-- {
		if p, err := a.Prefix(n); err == nil && p.Contains(b) {
			return n
		}
	}
}
