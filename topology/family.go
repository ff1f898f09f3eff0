package topology

import (
	"net/netip"
	"slices"
)

// OfFamily is the first address of an IP family; the zero Addr: there is none.
func OfFamily(list []netip.Addr, ipv6 bool) netip.Addr {
	return First(list, func(a netip.Addr) bool { return a.Is6() == ipv6 })
}

// PrefixOfFamily is the first prefix of an IP family; the zero Prefix: there is none.
func PrefixOfFamily(list []netip.Prefix, ipv6 bool) netip.Prefix {
	return First(list, func(p netip.Prefix) bool { return p.Addr().Is6() == ipv6 })
}

// First is the first element for which is holds, or the zero one.
func First[T any](list []T, is func(T) bool) (out T) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		out = list[i]
	}
	return out
}

// Single is the prefix that holds one address.
func Single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
