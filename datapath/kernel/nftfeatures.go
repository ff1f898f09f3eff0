//go:build linux

package kernel

import (
	"context"
	"net/netip"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// nftTried tries a table with a base chain, and in it one thing more.
func nftTried(what string) attempt {
	return func(ctx context.Context, ns *netns.NS) error {
		chain := plan.NFTChain{Name: "try", Type: "filter", Hook: "input", Policy: "accept"}
		table := plan.NFTTable{Family: "inet", Name: "try"}
		rule := func(exprs ...plan.NFTExpr) { chain.Rules = []plan.NFTRule{{Exprs: exprs}} }
		switch what {
		case "ranges":
			table.Sets = []plan.NFTSet{{Name: "try", Interval: true, Key: []plan.NFTType{plan.NFTProto, plan.NFTPort},
				Elements: []plan.NFTElement{{Key: []plan.NFTValue{plan.NFTProtocol("tcp"), plan.NFTRange(80, 90)}}}}}
		case "ct":
			rule(plan.NFTCTState{States: []string{"established"}})
		case "fib":
			rule(plan.NFTMatch{Field: plan.NFTFibSrcType, Value: plan.NFTNumber(plan.NFTLocal)})
		case "numgen":
			rule(plan.NFTMatch{Field: plan.NFTRandom(2), Value: plan.NFTNumber(0)})
		case "reject":
			rule(plan.NFTReject{With: "icmpx port-unreachable"})
		case "nat":
			after := plan.NFTChain{Name: "after", Type: "nat", Hook: "postrouting", Priority: 100, Policy: "accept",
				Rules: []plan.NFTRule{{Exprs: []plan.NFTExpr{plan.NFTMasquerade{FullyRandom: true}}}}}
			table.Chains = append(table.Chains, after)
			chain.Type, chain.Hook, chain.Priority = "nat", "prerouting", -100
			rule(plan.NFTDNAT{To: plan.NFTAddr(netip.AddrFrom4([4]byte{192, 0, 2, 1}))})
		}
		table.Chains = append(table.Chains, chain)
		return nftApply(ctx, ns.Do, plan.NFTEdits([]plan.NFTTable{table}))
	}
}
