package walk

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// set is an ipset with an index of its members.
type set struct {
	*ipset.Set
	once    sync.Once
	members map[member]bool
	lengths [][2]int // of the prefixes of members: each pair once
}

// member is a member of a set. Fields that the set's type does not use are zero.
type member struct {
	first  netip.Prefix
	proto  string
	port   uint16
	second netip.Prefix
}

func (s *set) index() {
	s.members = make(map[member]bool, len(s.Entries))
	known := map[[2]int]bool{}
	for _, e := range s.Entries {
		m := member{first: e.Prefix.Masked(), proto: e.Proto, port: e.Port, second: e.Second.Masked()}
		if s.Type == ipset.BitmapPort {
			m.proto = "" // a bitmap has only ports
		}
		s.members[m] = true
		if pair := [2]int{m.first.Bits(), m.second.Bits()}; !known[pair] {
			known[pair] = true
			s.lengths = append(s.lengths, pair)
		}
	}
}

// holds reports whether a member covers two addresses and a port. Addresses that the
// set's type does not use are invalid.
func (s *set) holds(first, second netip.Addr, proto string, port uint16) bool {
	s.once.Do(s.index)
	for _, bits := range s.lengths {
		m := member{proto: proto, port: port}
		var err1, err2 error
		if first.IsValid() {
			m.first, err1 = first.Prefix(bits[0])
		}
		if second.IsValid() {
			m.second, err2 = second.Prefix(bits[1])
		}
		if err1 == nil && err2 == nil && s.members[m] {
			return true
		}
	}
	return false
}

// matchSet looks parts of the packet up in a set. A set of the other IP family, a rule
// with fewer parts than the set has, and a packet without ports that is looked up by
// its port do not match (ip_set_test in net/netfilter/ipset/ip_set_core.c).
func (v *visit) matchSet(m iptables.MatchSet) (bool, error) {
	s := v.h.sets[m.Set]
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

func (v *visit) inSet(s *set, parts []string) (bool, error) {
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
		return s.holds(end(0).Addr(), netip.Addr{}, "", 0), nil
	case ipset.BitmapPort:
		return ports && (proto == "tcp" || proto == "udp") && s.holds(netip.Addr{}, netip.Addr{}, "", end(0).Port()), nil
	case ipset.HashIPPort, ipset.HashNetPort:
		return ports && len(parts) >= 2 && s.holds(end(0).Addr(), netip.Addr{}, proto, end(1).Port()), nil
	case ipset.HashIPPortIP, ipset.HashIPPortNet:
		return ports && len(parts) >= 3 && s.holds(end(0).Addr(), end(2).Addr(), proto, end(1).Port()), nil
	}
	return false, fmt.Errorf("set %q: unknown type %q", s.Name, s.Type)
}
