package plan

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
)

// SetType is the type of an ipset, as ipset create names it.
type SetType string

// The set types that plans use.
const (
	HashIP        SetType = "hash:ip"
	HashNet       SetType = "hash:net"
	HashIPPort    SetType = "hash:ip,port"
	HashNetPort   SetType = "hash:net,port"
	HashIPPortIP  SetType = "hash:ip,port,ip"
	HashIPPortNet SetType = "hash:ip,port,net"
	BitmapPort    SetType = "bitmap:port" // of all ports, 0-65535
)

// MaxElem is how many members a set can have. The kernel reserves nothing for them;
// its default is 65536.
const MaxElem = 1 << 20

// Set is an ipset of a network namespace. Sets are in the order of their names and
// exist before the rules that ask them; one that changes is never empty in between.
type Set struct {
	Name    string // at most 31 bytes
	Type    SetType
	IPv6    bool // family inet6; bitmaps have none
	Entries []SetEntry
	Origin  Origin
}

// SetEntry is a member of a set. Which fields count depends on the set's type;
// members are in the order of Sort, each there once. A hash:net takes no prefix of
// length 0: it needs two halves.
type SetEntry struct {
	Prefix netip.Prefix // of full length in hash:ip
	Proto  string       // tcp, udp or sctp, with Port
	Port   uint16
	Second netip.Prefix // the last part of hash:ip,port,ip and hash:ip,port,net
}

// HasPort reports whether members have a port.
func (t SetType) HasPort() bool { return t != HashIP && t != HashNet }

// HasSecond reports whether members have a second address.
func (t SetType) HasSecond() bool { return t == HashIPPortIP || t == HashIPPortNet }

// Sort brings the members into canonical form: networks without host bits, fields
// that the type does not have empty, sorted, each once.
func (s *Set) Sort() {
	sorted := true
	for i := range s.Entries {
		s.Entries[i] = s.Type.canonical(s.Entries[i])
		sorted = sorted && (i == 0 || compareEntries(s.Entries[i-1], s.Entries[i]) < 0)
	}
	if sorted {
		return
	}
	slices.SortFunc(s.Entries, compareEntries)
	s.Entries = slices.Compact(s.Entries)
}

func (t SetType) canonical(e SetEntry) SetEntry {
	if t == BitmapPort {
		return SetEntry{Port: e.Port}
	}
	e.Prefix = e.Prefix.Masked()
	if !t.HasPort() {
		e.Proto, e.Port = "", 0
	}
	if t.HasSecond() {
		e.Second = e.Second.Masked()
	} else {
		e.Second = netip.Prefix{}
	}
	return e
}

func compareEntries(a, b SetEntry) int {
	if c := comparePrefix(a.Prefix, b.Prefix); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Proto, b.Proto); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Port, b.Port); c != 0 {
		return c
	}
	return comparePrefix(a.Second, b.Second)
}

// Members returns the members as ipset save prints them.
func (s *Set) Members() []string {
	list := make([]string, 0, len(s.Entries))
	for _, e := range s.Entries {
		list = append(list, string(s.Type.appendEntry(nil, e)))
	}
	return list
}

// appendEntry appends a member as ipset save prints it.
func (t SetType) appendEntry(b []byte, e SetEntry) []byte {
	if t == BitmapPort {
		return strconv.AppendUint(b, uint64(e.Port), 10)
	}
	b = appendMember(b, e.Prefix)
	if t.HasPort() {
		b = append(append(append(b, ','), e.Proto...), ':')
		b = strconv.AppendUint(b, uint64(e.Port), 10)
	}
	if t.HasSecond() {
		b = appendMember(append(b, ','), e.Second)
	}
	return b
}

func appendMember(b []byte, p netip.Prefix) []byte {
	if p.IsSingleIP() {
		return p.Addr().AppendTo(b)
	}
	return p.AppendTo(b)
}

// appendCreate appends the line that makes the set, as ipset restore reads it, without
// what only tunes its memory.
func (s *Set) appendCreate(b []byte) []byte {
	b = append(append(append(b, "create "...), s.Name...), ' ')
	b = append(b, s.kind()...)
	if s.Type == BitmapPort {
		return append(b, " range 0-65535\n"...)
	}
	return append(strconv.AppendInt(append(b, " maxelem "...), MaxElem, 10), '\n')
}

// kind is the type with the family, where there is one.
func (s *Set) kind() string {
	switch {
	case s.Type == BitmapPort:
		return string(s.Type)
	case s.IPv6:
		return string(s.Type) + " family inet6"
	default:
		return string(s.Type) + " family inet"
	}
}

// appendEntries appends a line for each member: add or del.
func (t SetType) appendEntries(b []byte, verb, set string, entries []SetEntry) []byte {
	for _, e := range entries {
		b = append(append(append(append(b, verb...), ' '), set...), ' ')
		b = append(t.appendEntry(b, e), '\n')
	}
	return b
}

// SetEdit is what changes among the members of a set that stays.
type SetEdit struct {
	Name        string
	Type        SetType
	IPv6        bool
	Add, Delete []SetEntry // in the order of Sort
	Origin      Origin
}

// diffSets fills in what leads from some sets to others, both in the order of their
// names with members in that of Sort.
func diffSets(have, want []Set, e *Edit) {
	for len(have) > 0 || len(want) > 0 {
		switch {
		case len(want) == 0 || len(have) > 0 && have[0].Name < want[0].Name:
			gone := have[0]
			gone.Entries = nil
			e.Delete.Sets = append(e.Delete.Sets, gone)
			have = have[1:]
		case len(have) == 0 || want[0].Name < have[0].Name:
			e.Add.Sets = append(e.Add.Sets, want[0])
			want = want[1:]
		default:
			h, w := &have[0], &want[0]
			if h.Type != w.Type || h.IPv6 != w.IPv6 {
				e.Change.Sets = append(e.Change.Sets, *w)
			} else if !slices.Equal(h.Entries, w.Entries) {
				s := SetEdit{Name: w.Name, Type: w.Type, IPv6: w.IPv6, Origin: w.Origin}
				s.Add, s.Delete = diffEntries(h.Entries, w.Entries)
				e.Sets = append(e.Sets, s)
			}
			have, want = have[1:], want[1:]
		}
	}
}

func diffEntries(have, want []SetEntry) (add, del []SetEntry) {
	for len(have) > 0 && len(want) > 0 {
		switch c := compareEntries(have[0], want[0]); {
		case c == 0:
			have, want = have[1:], want[1:]
		case c < 0:
			del = append(del, have[0])
			have = have[1:]
		default:
			add = append(add, want[0])
			want = want[1:]
		}
	}
	return append(add, want...), append(del, have...)
}
