package servicetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/nft"
)

// The same for a layout whose decisions are elements of maps.
func TestMistakesInMapsAreNoticed(t *testing.T) {
	chain := func(t *nft.Table, name string, wrong func(r *nft.Rule) bool) {
		for i := range t.Chains {
			if c := &t.Chains[i]; strings.HasPrefix(c.Name, name) {
				c.Rules = slices.DeleteFunc(c.Rules, func(r nft.Rule) bool { return wrong(&r) })
			}
		}
	}
	rules := func(name, with string) func(*nft.Table) {
		return func(t *nft.Table) {
			chain(t, name, func(r *nft.Rule) bool { return strings.Contains(r.Words(), with) })
		}
	}
	elements := func(name string, change func(s *nft.Set)) func(*nft.Table) {
		return func(t *nft.Table) {
			for i := range t.Sets {
				if t.Sets[i].Name == name {
					change(&t.Sets[i])
				}
			}
		}
	}
	none := func(s *nft.Set) { s.Elements = nil }
	// count changes how many endpoints every class with some has.
	count := func(by int) func(s *nft.Set) {
		return func(s *nft.Set) {
			for i := range s.Elements {
				if n := &s.Elements[i].Data[0]; n.First&0xffff > 1 {
					*n = nft.Number(uint32(int(n.First) + by))
				}
			}
		}
	}
	for _, row := range []struct {
		name  string
		wrong func(*nft.Table)
	}{
		{"no hairpin masquerade", elements("hairpins", none)},
		{"no masquerade of external traffic", rules("nat-postrouting", "0x00100000")},
		{"no masquerade of outside clients to cluster IPs", rules("nat-postrouting", "0x00200000")},
		{"no masquerade of the node's own traffic", rules("nat-postrouting", "0x00400000")},
		{"no short circuit for pods", rules("external-local", "ip saddr")},
		{"no short circuit for the node", rules("external-local", "fib saddr")},
		{"no rejection", rules("reject-chain", "reject")},
		{"no drop in the load balancer's firewall", elements("firewall-ips", none)},
		{"all sources are admitted", rules("filter-prerouting-pre-dnat", "drop")},
		{"no drop without local endpoints", elements("no-endpoint-services", none)},
		{"other ports of cluster IPs are not refused", elements("cluster-ips", none)},
		{"one endpoint less", elements("services", count(-1))},
		{"one endpoint too many", elements("services", count(1))},
		{"one endpoint less for pods and the node", elements("everywhere", count(-1))},
		{"no endpoints", elements("endpoints", none)},
		{"nothing is remembered", rules("endpoint-", "update")},
		{"no affinity", rules("cluster-default/sticky", "@affinity")},
		{"no services of the node itself", rules("nat-output", "services")},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := open(t, &Setup{Mode: "host-gw", Backend: "nftables", Layout: "flat"})
			for i := range r.plan.Netns {
				for j := range r.plan.Netns[i].NFT {
					row.wrong(&r.plan.Netns[i].NFT[j])
				}
			}
			noticed(t, r)
		})
	}
}
