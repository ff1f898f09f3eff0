package calico

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// leaf is the address and the link of a pod, and its chain.
type leaf struct {
	addr  netip.Addr
	link  string
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
	for _, p := range c.endpoints() {
		if a, ok := c.Address(p.Pod); ok {
			chain := endpointChain(root, p.Pod)
			leaves = append(leaves, leaf{a.Addr(), p.HostLink, chain, policy.PodOrigin(p.Pod)})
		}
	}
	if c.byLinks() {
		c.divide(root, leaves)
		return
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

// byLinks reports whether the link of a packet on the node tells the pod: behind a bridge all have
// the bridge's, and what IPVS sends leaves by OUTPUT, where nothing says by which link it came.
func (c *compiler) byLinks() bool {
	mode := &c.View.Lab.Network.Mode
	return mode.PodRoutes && mode.PodLinks != "" && !c.View.Lab.Proxy.Mode.VirtualServers
}

// links is the condition that a packet comes from, or goes to, a link, or with a + at the end of
// the name, one of those that begin so.
func links(root, name string) iptables.Match {
	if root == from {
		return iptables.InIf{Name: name}
	}
	return iptables.OutIf{Name: name}
}

// workloads is the condition that a packet comes from, or goes to, a pod; none where addresses
// tell.
func (c *compiler) workloads(root string) []iptables.Match {
	if !c.byLinks() {
		return nil
	}
	return []iptables.Match{links(root, c.View.Lab.Network.Mode.PodLinks+"+")}
}

// divide adds what leads to the leaves by the names of their links, as Felix does (rules/dispatch.go):
// names that have the letter after the common beginning in common share a chain.
func (c *compiler) divide(root string, leaves []leaf) {
	slices.SortFunc(leaves, func(a, b leaf) int { return strings.Compare(a.link, b.link) })
	if len(leaves) == 0 {
		return
	}
	first, last := leaves[0].link, leaves[len(leaves)-1].link
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	for len(leaves) > 0 {
		begin := leaves[0].link[:min(n+1, len(leaves[0].link))]
		k := slices.IndexFunc(leaves, func(l leaf) bool { return !strings.HasPrefix(l.link, begin) })
		if k < 0 {
			k = len(leaves)
		}
		chain := root
		if k > 1 {
			chain = root + "-" + begin[n:]
			c.Add(root, c.View.Origin(), iptables.Goto{Chain: chain}, links(root, begin+"+"))
		}
		for _, l := range leaves[:k] {
			c.leaf(root, chain, l)
		}
		if k > 1 {
			c.unknown(chain)
		}
		leaves = leaves[k:]
	}
	c.unknown(root)
}

// unknown drops what comes from, or goes to, a link of which nothing is known, as before its pod is.
func (c *compiler) unknown(chain string) {
	c.Add(chain, c.View.Origin(), iptables.Drop{}, iptables.Comment{Text: "Unknown interface"})
}

// leaf adds to a chain what leads to a pod's own. What the pod sends to itself, by a service,
// goes back instead: no policy applies to it.
func (c *compiler) leaf(root, chain string, l leaf) {
	own := topology.Single(l.addr)
	c.Add(chain, l.o, iptables.Return{}, iptables.Src{Prefix: own}, iptables.Dst{Prefix: own})
	is := match(root, own)
	if c.byLinks() {
		is = links(root, l.link)
	}
	c.Add(chain, l.o, iptables.Goto{Chain: l.chain}, is)
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
