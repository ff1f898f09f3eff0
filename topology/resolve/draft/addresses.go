package draft

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
)

// The IP families, as Kubernetes names them.
const (
	IPv4 = "IPv4"
	IPv6 = "IPv6"
)

// FamilyName is the name of IPv6 or of IPv4.
func FamilyName(six bool) string {
	if six {
		return IPv6
	}
	return IPv4
}

// Claim takes a written address out of a pool, or reports why it is unavailable.
func (d *Draft) Claim(pool ipam.AddrPool, cidr string, o topology.Opt[netip.Addr], owner string) {
	if !pool.Prefix.Contains(o.Value) {
		d.Errorf(At(o.Origin), "Address outside its CIDR",
			"The address %s of %s is not in %s %s. Use an address of that prefix, or leave it out.", o.Value, owner, cidr, pool.Prefix)
		return
	}
	if other, ok := pool.Claim(o.Value, owner); !ok {
		d.Errorf(At(o.Origin), "Address taken twice",
			"The address %s of %s already belongs to %s. Use another one, or leave it out.", o.Value, owner, other)
	}
}

// AddressFamily reports a written address of a family that the lab does not have.
func (d *Draft) AddressFamily(o topology.Opt[netip.Addr], prefixes []netip.Prefix, cidr string) {
	if o.Set && !slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return SameFamily(o.Value, p) }) {
		d.Errorf(At(o.Origin), "Address outside its CIDR",
			"The address %s is not in %s. Use an address of that prefix, or leave it out.", o.Value, cidr)
	}
}

// SameFamily reports whether an address is of the family of a prefix.
func SameFamily(a netip.Addr, p netip.Prefix) bool {
	return a.IsValid() && a.Is4() == p.Addr().Is4()
}
