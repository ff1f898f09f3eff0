package topology

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
)

// maxPool bounds the slots that a pool uses of a large IPv6 prefix.
const maxPool = 1 << 32

// pool hands out numbered slots. Each key has a preferred slot, derived from the
// key alone, so that adding a key moves another only where two prefer the same
// slot; then the one that asked first keeps it.
type pool struct {
	size  uint64
	taken map[uint64]string // slot to the owner, as problems name it
}

func newPool(size uint64) *pool {
	return &pool{size: min(size, maxPool), taken: map[uint64]string{}}
}

// reserve takes one slot. It returns the owner that has it already, if any.
func (p *pool) reserve(slot uint64, owner string) (other string, ok bool) {
	if other, held := p.taken[slot]; held {
		return other, false
	}
	p.taken[slot] = owner
	return "", true
}

// window is the half-open range of slots that a kind of key prefers: kinds that
// share a pool prefer different windows, so that they do not displace each other.
type window struct{ lo, hi uint64 }

func (p *pool) all() window { return window{0, p.size} }

// part is the window from a/n to b/n of the pool.
func (p *pool) part(a, b, n uint64) window { return window{p.size * a / n, p.size * b / n} }

// probes is how many slots a key tries at random before it takes the next free one.
const probes = 64

// take finds a free slot for a key: its preferred ones in the window, then the
// next free one in the window, then anywhere. False means that the pool is full.
func (p *pool) take(key string, w window, owner string) (uint64, bool) {
	if uint64(len(p.taken)) >= p.size {
		return 0, false
	}
	if w.hi <= w.lo || w.hi > p.size {
		w = p.all()
	}
	for i := range probes {
		slot := w.lo + hash(key, i)%(w.hi-w.lo)
		if _, ok := p.reserve(slot, owner); ok {
			return slot, true
		}
	}
	for _, w := range []window{w, p.all()} {
		for slot := w.lo; slot < w.hi; slot++ {
			if _, ok := p.reserve(slot, owner); ok {
				return slot, true
			}
		}
	}
	return 0, false
}

// hash is a number that depends on a key and the number of the attempt only.
func hash(key string, attempt int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, attempt))
	return binary.BigEndian.Uint64(sum[:8])
}

// addrPool hands out the addresses of one prefix.
type addrPool struct {
	prefix netip.Prefix
	*pool
}

// newAddrPool returns a pool of the host addresses of a prefix: all but the
// network's own and, in IPv4, the broadcast address.
func newAddrPool(prefix netip.Prefix) addrPool {
	p := addrPool{prefix, newPool(blockCount(prefix, prefix.Addr().BitLen()))}
	p.reserve(0, "the network itself")
	if prefix.Addr().Is4() && prefix.Bits() < 31 {
		p.reserve(p.size-1, "the broadcast address")
	}
	return p
}

// claim takes a given address. When somebody has it, claim returns who.
func (p addrPool) claim(a netip.Addr, owner string) (other string, ok bool) {
	slot, ok := p.slot(a)
	if !ok {
		// Beyond the slots of a very large prefix nothing is allocated, so two
		// claims there can only collide with each other.
		slot = p.size + hash(a.String(), 0)>>1
	}
	return p.reserve(slot, owner)
}

// assign finds a free address for a key.
func (p addrPool) assign(key string, w window, owner string) (netip.Addr, bool) {
	slot, ok := p.take(key, w, owner)
	if !ok {
		return netip.Addr{}, false
	}
	return p.at(slot), true
}

// at is the address of a slot.
func (p addrPool) at(slot uint64) netip.Addr {
	return nthBlock(p.prefix, p.prefix.Addr().BitLen(), slot).Addr()
}

func (p addrPool) slot(a netip.Addr) (uint64, bool) {
	high, low := split(a)
	baseHigh, baseLow := split(p.prefix.Addr())
	if high != baseHigh || low < baseLow || low-baseLow >= p.size {
		return 0, false
	}
	return low - baseLow, true
}

// blockCount is how many blocks of a prefix length a prefix holds, at most maxPool.
func blockCount(prefix netip.Prefix, bits int) uint64 {
	n := bits - prefix.Bits()
	switch {
	case n < 0:
		return 0
	case n >= 32:
		return maxPool
	default:
		return 1 << n
	}
}

// nthBlock is the n-th block of the given prefix length inside a prefix. The
// caller asks for blocks that exist.
func nthBlock(prefix netip.Prefix, bits int, n uint64) netip.Prefix {
	high, low := split(prefix.Addr())
	shift := prefix.Addr().BitLen() - bits
	switch {
	case shift >= 64:
		high += n << (shift - 64)
	default:
		if shift > 0 {
			high += n >> (64 - shift)
		}
		was := low
		low += n << shift
		if low < was {
			high++
		}
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], high)
	binary.BigEndian.PutUint64(b[8:], low)
	if prefix.Addr().Is4() {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte(b[12:])), bits)
	}
	return netip.PrefixFrom(netip.AddrFrom16(b), bits)
}

// split returns an address as two numbers; an IPv4 address is in the second.
func split(a netip.Addr) (high, low uint64) {
	if a.Is4() {
		b := a.As4()
		return 0, uint64(binary.BigEndian.Uint32(b[:]))
	}
	b := a.As16()
	return binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
}

// The second byte of a MAC says what it is for.
const (
	macEther = 0x42 // eth0 of a node, client or pod
	macVTEP  = 0x56 // the vxlan device of a node
)

// macFor is the locally administered MAC for an address: 02, the purpose, and the
// IPv4 address itself, so that it is unique where the address is and readable in
// a capture. An IPv6 address is hashed.
func macFor(purpose byte, a netip.Addr) MAC {
	m := MAC{0x02, purpose}
	if a.Is4() {
		b := a.As4()
		copy(m[2:], b[:])
		return m
	}
	binary.BigEndian.PutUint32(m[2:], uint32(hash(a.String(), 0)))
	return m
}
