package walk

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/walk/network"
)

// matchSet looks parts of the packet up in a set. A set of the other IP family, a rule
// with fewer parts than the set has, and a packet without ports that is looked up by
// its port do not match (ip_set_test in net/netfilter/ipset/ip_set_core.c).
func (v *visit) matchSet(m iptables.MatchSet) (bool, error) {
	s := v.h.Set(m.Set)
	if s == nil {
		return false, fmt.Errorf("set %q does not exist", m.Set)
	}
	parts := strings.Split(m.Parts, ",")
	for _, part := range parts {
		if part != "src" && part != "dst" {
			return false, fmt.Errorf("set %q: unknown part %q", m.Set, part)
		}
	}
	hit, err := v.inSet(s, parts)
	return hit != m.Not, err
}

func (v *visit) inSet(s *network.Set, parts []string) (bool, error) {
	if s.Type != ipset.BitmapPort && s.IPv6 != v.p.ipv6() {
		return false, nil
	}
	end := func(i int) netip.AddrPort {
		if parts[i] == "src" {
			return v.p.src
		}
		return v.p.dst
	}
	proto := string(v.p.proto)
	ports := v.p.quoted == nil // ICMP errors have none
	switch s.Type {
	case ipset.HashIP, ipset.HashNet:
		return s.Holds(end(0).Addr(), netip.Addr{}, "", 0), nil
	case ipset.BitmapPort:
		return ports && (proto == "tcp" || proto == "udp") && s.Holds(netip.Addr{}, netip.Addr{}, "", end(0).Port()), nil
	case ipset.HashIPPort, ipset.HashNetPort:
		return ports && len(parts) >= 2 && s.Holds(end(0).Addr(), netip.Addr{}, proto, end(1).Port()), nil
	case ipset.HashIPPortIP, ipset.HashIPPortNet:
		return ports && len(parts) >= 3 && s.Holds(end(0).Addr(), end(2).Addr(), proto, end(1).Port()), nil
	}
	return false, fmt.Errorf("set %q: unknown type %q", s.Name, s.Type)
}
