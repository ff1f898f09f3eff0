package servicetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/nft"
)

// The same for kube-proxy's layout of nf_tables: rules and elements go missing.
func TestMistakesInVerdictMapsAreNoticed(t *testing.T) {
	for _, row := range []struct {
		name string
		in   string // begins the name of a chain or set
		with string // is part of the rules and elements that go missing
	}{
		{"no hairpin masquerade", "endpoint-", "jump mark-for-masquerade"},
		{"no masquerade of external traffic", "external-", "jump mark-for-masquerade"},
		{"no masquerade of the node's own traffic", "external-", "fib saddr type local jump"},
		{"no masquerade of outside clients to cluster IPs", "service-", "saddr !="},
		{"no masquerade at all", "masquerading", "masquerade"},
		{"no short circuit for pods", "external-", "short-circuit pod"},
		{"no short circuit for the node", "external-", "short-circuit local"},
		{"no rejection", "reject-chain", "reject"},
		{"no drop in the load balancer's firewall", "firewall-", "drop"},
		{"no drop without local endpoints", "no-endpoint-services", "drop"},
		{"no drop of node ports without local endpoints", "no-endpoint-nodeports", "drop"},
		{"no affinity", "service-", "@affinity-"},
		{"nothing is remembered", "endpoint-", "update"},
		{"other ports of cluster IPs are not refused", "cluster-ips-check", "reject"},
		{"no node ports", "service-nodeports", ""},
		{"no node ports on the node's address", "nodeport-ips", ""},
		{"no services of the node itself", "nat-output", ""},
		{"no rejection when forwarding", "filter-forward", "service-endpoints-check"},
		{"no rejection in the node itself", "filter-output", "service-endpoints-check"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := open(t, &Setup{Mode: "host-gw", Backend: "nftables"})
			missing := 0
			for i := range r.plan.Netns {
				for j := range r.plan.Netns[i].NFT {
					missing += lose(&r.plan.Netns[i].NFT[j], row.in, row.with)
				}
			}
			if missing == 0 {
				t.Fatal("nothing is missing")
			}
			noticed(t, r)
		})
	}
}

// lose removes rules and elements, and counts them.
func lose(t *nft.Table, in, with string) (n int) {
	for i := range t.Chains {
		if c := &t.Chains[i]; strings.HasPrefix(c.Name, in) {
			before := len(c.Rules)
			c.Rules = slices.DeleteFunc(c.Rules, func(r nft.Rule) bool { return strings.Contains(r.Words(), with) })
			n += before - len(c.Rules)
		}
	}
	for i := range t.Sets {
		if s := &t.Sets[i]; strings.HasPrefix(s.Name, in) {
			before := len(s.Elements)
			s.Elements = slices.DeleteFunc(s.Elements, func(e nft.Element) bool { return strings.Contains(s.Words(&e), with) })
			n += before - len(s.Elements)
		}
	}
	return n
}
