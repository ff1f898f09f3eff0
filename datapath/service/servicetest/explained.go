package servicetest

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// explained are the differences between netlab's rules and those of the kube-proxy that make
// test-real builds, which have a reason.
var explained = []struct {
	what string
	line *regexp.Regexp // of plan.Drift, from what kube-proxy wrote to what netlab would; its group is the place; nil: it is told by more than a line
	also func(line string) bool
	why  string
}{{
	what: "nftables: the rule that drops packets to addresses of the service CIDR without a service",
	line: regexp.MustCompile(`^(\S+ ip6? kube-proxy cluster-ips-check): rule missing: ip6? daddr \S+ drop comment "Drop traffic to unallocated ClusterIPs"`),
	why:  "kube-proxy may learn the CIDR after it has written its first rules, and then adds the rule when it writes again, at the latest after 30 seconds",
}, {
	what: "nftables: source ranges that overlap or are next to each other",
	line: regexp.MustCompile(`^(\S+ ip6? kube-proxy firewall-\S+): rule missing: ip6? saddr != \{`),
	also: neighbours,
	why:  "kube-proxy writes rules with nft(8), which makes one range of them",
}, {
	what: "ipvs: the weight of an endpoint",
	line: regexp.MustCompile(`^(\S+ virtual server .*): real server \S+ weight \d+ changed`),
	why:  "the Kubernetes API has no weights, so that each endpoint has weight 1; claims that need others do not hold",
}, {
	what: "all modes: the zone of a node",
	why: "kube-proxy may be told its node's labels before it listens (`RegisterEventHandler` after `NewNodeTopologyConfig` in its `server.go`), about once in a thousand starts, and works as on a node without a zone until it is started again; " +
		"`make test-real` notices that, and builds the lab again",
}}

// Unexplained are the differences between the rules of kube-proxy and netlab's, lines of plan.Drift,
// that have no reason. With a rule that is missing goes what is in its place.
func Unexplained(lines []string) []string {
	places := map[string]bool{}
	var rest []string
	for _, line := range lines {
		place := ""
		for _, e := range explained {
			if e.line == nil {
				continue
			}
			if m := e.line.FindStringSubmatch(line); m != nil && (e.also == nil || e.also(line)) {
				place = m[1]
			}
		}
		if places[place] = true; place == "" {
			rest = append(rest, line)
		}
	}
	rest = slices.DeleteFunc(rest, alone(rest))
	return slices.DeleteFunc(rest, func(line string) bool {
		place, _, other := strings.Cut(line, ": rule not in the plan: ")
		return other && places[place]
	})
}

// alone tells the lines of a source range that is a set for nft(8), which makes one of several that
// overlap, and none for netlab.
func alone(lines []string) func(line string) bool {
	set := regexp.MustCompile(`^(\S+ ip6? kube-proxy firewall-\S+): rule (?:not in the plan|missing): (ip6? saddr != )(?:\{ ([^ ,]+) \}|([^ ,]+)) drop`)
	ways := map[string]int{} // by place and rule: 1 with a set, 2 without
	of := func(line string) (rule string, way int) {
		m := set.FindStringSubmatch(line)
		switch {
		case m == nil:
			return "", 0
		case m[3] != "":
			return m[1] + m[2] + m[3], 1
		}
		return m[1] + m[2] + m[4], 2
	}
	for _, line := range lines {
		rule, way := of(line)
		ways[rule] |= way
	}
	return func(line string) bool {
		rule, way := of(line)
		return way != 0 && ways[rule] == 1|2
	}
}

// neighbours reports whether two of the addresses and prefixes in a rule are next to each other.
func neighbours(line string) bool {
	var ends []netip.Addr
	var begin []netip.Addr
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,{}", r) }) {
		p, err := netip.ParsePrefix(word)
		if a, e := netip.ParseAddr(word); e == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			continue
		}
		last := p.Masked().Addr().AsSlice()
		for i := range last {
			if host := 8*(i+1) - p.Bits(); host > 0 {
				last[i] |= byte(1<<min(host, 8) - 1)
			}
		}
		end, _ := netip.AddrFromSlice(last)
		begin, ends = append(begin, p.Masked().Addr()), append(ends, end.Next())
	}
	return slices.ContainsFunc(ends, func(a netip.Addr) bool { return slices.Contains(begin, a) })
}
