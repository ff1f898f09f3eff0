package network

import (
	"net/netip"
	"sync"

	"github.com/netlab/netlab/datapath/plan/ipset"
)

// Set is an ipset with an index of its members.
type Set struct {
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

func (s *Set) index() {
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

// Holds reports whether a member covers two addresses and a port. Addresses that the
// set's type does not use are invalid.
func (s *Set) Holds(first, second netip.Addr, proto string, port uint16) bool {
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
