package policy

import (
	"net/netip"
	"slices"
)

// subtract returns a block without its exceptions, as blocks. The kernel could do so
// itself by nomatch members of a set, but such a member would take addresses from all
// blocks of the set, while an exception is for its own block only.
func subtract(block netip.Prefix, except []netip.Prefix) []netip.Prefix {
	block = block.Masked()
	for _, e := range except {
		if e.Bits() <= block.Bits() && e.Overlaps(block) {
			return nil
		}
	}
	if !slices.ContainsFunc(except, block.Overlaps) {
		return []netip.Prefix{block}
	}
	low, high := halves(block)
	return append(subtract(low, except), subtract(high, except)...)
}

// halves splits a block, which has more than one address.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	bits := p.Bits() + 1
	low = netip.PrefixFrom(p.Addr(), bits)
	b := p.Addr().AsSlice()
	b[(bits-1)/8] |= 0x80 >> ((bits - 1) % 8)
	a, _ := netip.AddrFromSlice(b)
	return low, netip.PrefixFrom(a, bits)
}

// mergeBlocks returns the fewest blocks that hold the same addresses, sorted.
func mergeBlocks(list []netip.Prefix) []netip.Prefix {
	slices.SortFunc(list, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	var out []netip.Prefix
	for _, p := range list {
		if n := len(out); n > 0 && out[n-1].Contains(p.Addr()) {
			continue // a part of the one before
		}
		out = append(out, p)
		for n := len(out); n > 1; n = len(out) {
			whole, ok := join(out[n-2], out[n-1])
			if !ok {
				break
			}
			out = append(out[:n-2], whole)
		}
	}
	return out
}

// join returns the block of which two are the halves.
func join(low, high netip.Prefix) (netip.Prefix, bool) {
	if low.Bits() != high.Bits() || low.Bits() == 0 {
		return netip.Prefix{}, false
	}
	whole := netip.PrefixFrom(low.Addr(), low.Bits()-1).Masked()
	a, b := halves(whole)
	return whole, a == low && b == high
}
