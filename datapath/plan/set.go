package plan

import "net/netip"

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
