package policy

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

func prefixes(text string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range strings.Fields(text) {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func TestExceptionsAreSubtracted(t *testing.T) {
	for _, row := range []struct{ name, block, except, want string }{
		{"none", "10.0.0.0/8", "", "10.0.0.0/8"},
		{"half", "10.0.0.0/8", "10.128.0.0/9", "10.0.0.0/9"},
		{"a quarter", "10.0.0.0/8", "10.64.0.0/10", "10.0.0.0/10 10.128.0.0/9"},
		{"one address", "10.0.0.0/30", "10.0.0.1/32", "10.0.0.0/32 10.0.0.2/31"},
		{"within each other", "10.0.0.0/8", "10.0.0.0/9 10.1.0.0/16", "10.128.0.0/9"},
		{"all but one half", "0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1"},
		{"all of it in two halves", "10.0.0.0/8", "10.0.0.0/9 10.128.0.0/9", ""},
		{"elsewhere", "10.0.0.0/8", "11.0.0.0/8", "10.0.0.0/8"},
		{"IPv6", "fd00::/16", "fd00:8000::/17", "fd00::/17"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := mergeBlocks(subtract(netip.MustParsePrefix(row.block), prefixes(row.except)))
			if !slices.Equal(got, prefixes(row.want)) {
				t.Errorf("got %v, want %s", got, row.want)
			}
		})
	}
}

func TestBlocksAreMerged(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{"10.0.0.0/9 10.128.0.0/9", "10.0.0.0/8"},
		{"10.1.0.0/16 10.0.0.0/8", "10.0.0.0/8"},
		{"10.0.0.0/32 10.0.0.1/32 10.0.0.2/31", "10.0.0.0/30"},
		{"10.0.0.1/32 10.0.0.2/32", "10.0.0.1/32 10.0.0.2/32"},
		{"0.0.0.0/1 128.0.0.0/1", "0.0.0.0/0"},
	} {
		if got := mergeBlocks(prefixes(row.in)); !slices.Equal(got, prefixes(row.want)) {
			t.Errorf("%s: got %v, want %s", row.in, got, row.want)
		}
	}
}

func TestPortsFitIntoRules(t *testing.T) {
	r := Rule{}
	for i := range uint16(20) {
		r.Ranges = append(r.Ranges, PortRange{topology.TCP, 10 * i, 10*i + i%2})
	}
	r.Ranges = mergePorts(r.Ranges)
	for _, matches := range r.PortMatches() {
		ports := strings.FieldsFunc(matches[1].(iptables.MultiPort).Ports, func(c rune) bool { return c == ',' || c == ':' })
		if len(ports) > 15 {
			t.Errorf("%d places: %v", len(ports), matches)
		}
	}
	if got := len(r.PortMatches()); got != 2 {
		t.Errorf("%d rules, want 2: 10 ports and 10 ranges take 30 places", got)
	}
}

// Live connections may stay if they are allowed: random tiers are tried with
// random connections.
func TestCutsAllowWhatTheTiersAllow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	blocks := prefixes("0.0.0.0/0 10.0.0.0/8 10.1.0.0/16 10.1.2.0/24 10.1.2.3/32 10.128.0.0/9 192.168.0.0/16")
	actions := []topology.PolicyAction{topology.PolicyAccept, topology.PolicyDeny, topology.PolicyPass}
	clauses := func(n, kinds int) []clause {
		var out []clause
		for range random.IntN(n) {
			c := clause{action: actions[random.IntN(kinds)]}
			if random.IntN(4) > 0 {
				c.Peer = []netip.Prefix{blocks[random.IntN(len(blocks))], blocks[random.IntN(len(blocks))]}
			}
			if random.IntN(2) == 0 {
				c.Proto = []string{"tcp", "udp"}[random.IntN(2)]
				c.First = uint16(1 + random.IntN(100))
				c.Last = c.First + uint16(random.IntN(50))
			}
			out = append(out, c)
		}
		return out
	}
	for range 2000 {
		tiers := tiers{admin: clauses(5, 3), rest: append(clauses(4, 2), clause{action: topology.PolicyAccept})}
		cut := conntrack.Cut{Allow: tiers.allowed(false)}
		for range 50 {
			b := blocks[random.IntN(len(blocks))].Addr()
			for range random.IntN(3) {
				b = b.Next()
			}
			proto, port := []string{"tcp", "udp", "sctp", "icmp"}[random.IntN(4)], uint16(1+random.IntN(160))
			if proto == "icmp" {
				port = 0
			}
			if got, want := cut.Allows(b, proto, port), first(tiers, b, proto, port); got != want {
				t.Fatalf("%s %s %d: got %v, want %v\n%+v\n%+v", b, proto, port, got, want, tiers, cut.Allow)
			}
		}
	}
}

// first evaluates clause by clause.
func first(t tiers, peer netip.Addr, proto string, port uint16) bool {
	passed := false
	for _, c := range append(slices.Clone(t.admin), clause{action: topology.PolicyPass}) {
		if c.Covers(peer, proto, port) {
			if c.action != topology.PolicyPass {
				return c.action == topology.PolicyAccept
			}
			passed = true
			break
		}
	}
	for _, c := range t.rest {
		if passed && c.Covers(peer, proto, port) {
			return c.action == topology.PolicyAccept
		}
	}
	return false
}
