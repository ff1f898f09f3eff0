package ipset

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/plan/ordered"
	"github.com/netlab/netlab/datapath/plan/origin"
)

// Type is the type of an ipset, as ipset create names it.
type Type string

// The set types that plans use.
const (
	HashIP        Type = "hash:ip"
	HashNet       Type = "hash:net"
	HashIPPort    Type = "hash:ip,port"
	HashNetPort   Type = "hash:net,port"
	HashIPPortIP  Type = "hash:ip,port,ip"
	HashIPPortNet Type = "hash:ip,port,net"
	BitmapPort    Type = "bitmap:port" // of all ports, 0-65535
)

const listSet Type = "list:set" // its members are sets, which no plan has

// Planned reports whether plans have sets of the type.
func (t Type) Planned() bool {
	return slices.Contains([]Type{HashIP, HashNet, HashIPPort, HashNetPort, HashIPPortIP, HashIPPortNet, BitmapPort}, t)
}

// MaxElem is the most members a set can have. The kernel does not preallocate them; its
// default is 65536.
const MaxElem = 1 << 20

// Set is an ipset of a network namespace. Sets are in the order of their names and
// exist before the rules that reference them; one that changes is never empty in
// between.
type Set struct {
	Name    string // at most 31 bytes
	Type    Type
	IPv6    bool // family inet6; bitmaps have none
	Entries []Entry
	Origin  origin.Ref
}

// Entry is a member of a set. Which fields count depends on the set's type; members are
// in the order of Sort, without duplicates. A hash:net takes no prefix of length 0: it
// needs two halves.
type Entry struct {
	Prefix netip.Prefix // of full length for hash:ip
	Proto  string       // tcp, udp or sctp, with Port
	Port   uint16
	Second netip.Prefix // the last part of hash:ip,port,ip and hash:ip,port,net
}

// HasPort reports whether members have a port.
func (t Type) HasPort() bool { return t != HashIP && t != HashNet }

// HasSecond reports whether members have a second address.
func (t Type) HasSecond() bool { return t == HashIPPortIP || t == HashIPPortNet }

func compareSets(a, b Set) int { return cmp.Compare(a.Name, b.Name) }

// Sort brings sets into the order of their names, and each into canonical form.
func Sort(list []Set) {
	ordered.Sort(list, compareSets)
	for i := range list {
		list[i].Sort()
	}
}

// Sort brings the members into canonical form: networks without host bits, fields that
// the type does not use empty, sorted, without duplicates.
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

func (t Type) canonical(e Entry) Entry {
	if t == BitmapPort {
		return Entry{Port: e.Port}
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

func compareEntries(a, b Entry) int {
	if c := a.Prefix.Compare(b.Prefix); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Proto, b.Proto); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Port, b.Port); c != 0 {
		return c
	}
	return a.Second.Compare(b.Second)
}

// Members returns the members as ipset save prints them.
func (s *Set) Members() []string {
	list := make([]string, 0, len(s.Entries))
	for _, e := range s.Entries {
		list = append(list, string(s.Type.appendEntry(nil, e)))
	}
	return list
}

// Words returns a member as ipset save prints it.
func (t Type) Words(e Entry) string { return string(t.appendEntry(nil, e)) }

// appendEntry appends a member as ipset save prints it.
func (t Type) appendEntry(b []byte, e Entry) []byte {
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
// what only tunes its memory use.
func (s *Set) appendCreate(b []byte) []byte {
	b = append(append(append(b, "create "...), s.Name...), ' ')
	b = append(b, s.Kind()...)
	if s.Type == BitmapPort {
		return append(b, " range 0-65535\n"...)
	}
	return append(strconv.AppendInt(append(b, " maxelem "...), MaxElem, 10), '\n')
}

// Kind is the type, with the family if it has one.
func (s *Set) Kind() string {
	switch {
	case s.Type == BitmapPort:
		return string(s.Type)
	case s.IPv6:
		return string(s.Type) + " family inet6"
	default:
		return string(s.Type) + " family inet"
	}
}

// MarshalJSON returns the set with its members as ipset save prints them.
func (s *Set) MarshalJSON() ([]byte, error) {
	out := struct {
		Name    string     `json:"name"`
		Type    Type       `json:"type"`
		Family  string     `json:"family,omitempty"` // inet or inet6, as ipset names them
		Members []string   `json:"members"`
		Origin  origin.Ref `json:"origin,omitzero"`
	}{s.Name, s.Type, "", s.Members(), s.Origin}
	_, out.Family, _ = strings.Cut(s.Kind(), " family ")
	return json.Marshal(out)
}

// Command is one operation on a set: create it without members, add members, del them,
// flush all members, or destroy it.
type Command struct {
	Verb    string
	Set     *Set
	Entries []Entry // of add and del
}

// Append appends the lines that ipset restore reads: one for each member.
func (c *Command) Append(b []byte) []byte {
	switch c.Verb {
	case "create":
		return c.Set.appendCreate(b)
	case "destroy", "flush":
		return append(append(append(append(b, c.Verb...), ' '), c.Set.Name...), '\n')
	}
	for _, e := range c.Entries {
		b = append(append(append(append(b, c.Verb...), ' '), c.Set.Name...), ' ')
		b = append(c.Set.Type.appendEntry(b, e), '\n')
	}
	return b
}

// String is the first line of the command.
func (c Command) String() string {
	if len(c.Entries) > 1 {
		c.Entries = c.Entries[:1]
	}
	return "ipset " + strings.TrimSuffix(string(c.Append(nil)), "\n")
}

// Create appends the commands that make sets with their members.
func Create(list []Command, sets []Set) []Command {
	for i := range sets {
		list = append(list, Command{Verb: "create", Set: &sets[i]})
		if len(sets[i].Entries) > 0 {
			list = append(list, Command{"add", &sets[i], sets[i].Entries})
		}
	}
	return list
}

// Release appends the commands by which those sets that consist of others let go of them.
func Release(list []Command, sets []Set) []Command {
	for i := range sets {
		if sets[i].Type == listSet {
			list = append(list, Command{Verb: "flush", Set: &sets[i]})
		}
	}
	return list
}

// Destroy appends the commands that remove sets.
func Destroy(list []Command, sets []Set) []Command {
	for i := range sets {
		list = append(list, Command{Verb: "destroy", Set: &sets[i]})
	}
	return list
}

// Edit lists the changed members of a set that stays.
type Edit struct {
	Set                 // without its members
	Add, Delete []Entry // in the order of Sort
}

// Commands appends the command that adds or deletes members.
func (e *Edit) Commands(list []Command, verb string, entries []Entry) []Command {
	if len(entries) == 0 {
		return list
	}
	return append(list, Command{verb, &e.Set, entries})
}

func (s *Set) bare() Set { return Set{Name: s.Name, Type: s.Type, IPv6: s.IPv6, Origin: s.Origin} }

// Difference is the difference between two lists of sets. Change holds sets of another
// type or family, which are recreated.
type Difference struct {
	Add, Change, Delete []Set
	Edits               []Edit
}

// Diff compares sets ordered by name, with members in the order of Sort.
func Diff(have, want []Set) (e Difference) {
	for h, w := range ordered.Pairs(have, want, compareSets) {
		switch {
		case w == nil:
			e.Delete = append(e.Delete, h.bare())
		case h == nil:
			e.Add = append(e.Add, *w)
		case h.Type != w.Type || h.IPv6 != w.IPv6:
			e.Change = append(e.Change, *w)
		case !slices.Equal(h.Entries, w.Entries):
			s := Edit{Set: w.bare()}
			for h, w := range ordered.Pairs(h.Entries, w.Entries, compareEntries) {
				switch {
				case w == nil:
					s.Delete = append(s.Delete, *h)
				case h == nil:
					s.Add = append(s.Add, *w)
				}
			}
			e.Edits = append(e.Edits, s)
		}
	}
	return e
}
