package zone

import (
	"cmp"
	"fmt"

	"github.com/netlab/netlab/datapath/plan/coder"
	"github.com/netlab/netlab/datapath/plan/origin"
)

// Type is the type of a record.
type Type string

// The types that records have.
const (
	A     Type = "A"
	AAAA  Type = "AAAA"
	CNAME Type = "CNAME"
	NS    Type = "NS"
	PTR   Type = "PTR"
	SOA   Type = "SOA"
	SRV   Type = "SRV"
	TXT   Type = "TXT"
)

// TTL is how long answers may be kept, in seconds: that of kubeadm's Corefile.
const TTL = 30

// The times of SOA records, in seconds: those of CoreDNS (plugin/backend_lookup.go). An answer that
// there is nothing may be kept as long as others, TTL.
const (
	Refresh = 7200
	Retry   = 1800
	Expire  = 86400
)

// Record is one resource record.
type Record struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
	// Value is an address (A, AAAA), a name (CNAME, NS, PTR, SRV), a text (TXT) or the name of the
	// zone's primary server (SOA).
	Value  string     `json:"value"`
	Port   uint16     `json:"port,omitempty"`   // of SRV
	Weight uint16     `json:"weight,omitempty"` // of SRV
	Origin origin.Ref `json:"origin,omitzero"`
}

// Key is all of the record but where it comes from.
func (r Record) Key() Record {
	r.Origin = origin.Ref{}
	return r
}

// Mailbox is that of whoever is responsible for a zone, as a name (RFC 2142, section 7).
func (r Record) Mailbox() string { return "hostmaster." + r.Name }

// Compare orders records by name, type and value.
func (r Record) Compare(o Record) int {
	return cmp.Or(cmp.Compare(r.Name, o.Name), cmp.Compare(r.Type, o.Type), cmp.Compare(r.Value, o.Value), cmp.Compare(r.Port, o.Port))
}

// String is the record as a zone file has it. The serial number of a zone is that of the running
// server.
func (r Record) String() string {
	value := r.Value
	switch r.Type {
	case CNAME, NS, PTR:
		value += "."
	case SOA:
		value = fmt.Sprintf("%s. %s. 1 %d %d %d %d", r.Value, r.Mailbox(), Refresh, Retry, Expire, TTL)
	case SRV:
		value = fmt.Sprintf("0 %d %d %s.", r.Weight, r.Port, r.Value)
	case TXT:
		value = fmt.Sprintf("%q", r.Value)
	}
	return fmt.Sprintf("%s. %d IN %s %s", r.Name, TTL, r.Type, value)
}

// Code codes a record.
func Code(c *coder.Coder, r *Record) {
	c.Origin(&r.Origin)
	coder.String(c, &r.Name)
	coder.String(c, &r.Type)
	coder.String(c, &r.Value)
	coder.Int(c, &r.Port)
	coder.Int(c, &r.Weight)
}
