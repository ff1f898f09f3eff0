//go:build linux

package kernel

import (
	"context"
	"net/netip"

	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// nftTried tries a table with a base chain and one more object or rule in it.
func nftTried(what string) attempt {
	return func(ctx context.Context, ns *netns.NS) error {
		chain := nft.Chain{Name: "try", Type: "filter", Hook: "input", Policy: "accept"}
		table := nft.Table{Family: "inet", Name: "try"}
		rule := func(exprs ...nft.Expr) { chain.Rules = []nft.Rule{{Exprs: exprs}} }
		switch what {
		case "ranges":
			table.Sets = []nft.Set{{Name: "try", Interval: true, Key: []nft.Type{nft.Proto, nft.Port},
				Elements: []nft.Element{{Key: []nft.Value{nft.Protocol("tcp"), nft.Range(80, 90)}}}}}
		case "ct":
			rule(nft.CTState{States: []string{"established"}})
		case "fib":
			rule(nft.Match{Field: nft.FibSrcType, Value: nft.Number(nft.Local)})
		case "numgen":
			rule(nft.Match{Field: nft.Random(2), Value: nft.Number(0)})
		case "reject":
			rule(nft.Reject{With: "icmpx port-unreachable"})
		case "nat":
			after := nft.Chain{Name: "after", Type: "nat", Hook: "postrouting", Priority: 100, Policy: "accept",
				Rules: []nft.Rule{{Exprs: []nft.Expr{nft.Masquerade{FullyRandom: true}}}}}
			table.Chains = append(table.Chains, after)
			chain.Type, chain.Hook, chain.Priority = "nat", "prerouting", -100
			rule(nft.DNAT{To: nft.Addr(netip.AddrFrom4([4]byte{192, 0, 2, 1}))})
		}
		table.Chains = append(table.Chains, chain)
		return nftables.Apply(ctx, ns.Do, nft.Create([]nft.Table{table}))
	}
}
