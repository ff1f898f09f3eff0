package ipam

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
	"net/netip"

	"github.com/netlab/netlab/topology"
)

// maxPool bounds the slots that a pool uses of a large IPv6 prefix.
const maxPool = 1 << 32

// Pool allocates numbered slots. Each key has a preferred slot, derived from the
// key alone, so that adding a key moves another only where two prefer the same
// slot; then the first one to take it keeps it.
type Pool struct {
	Size  uint64
	taken map[uint64]string // slot to the owner, as problems name it
}

// NewPool returns a pool of the given size, at most maxPool.
func NewPool(size uint64) *Pool {
	return &Pool{Size: min(size, maxPool), taken: map[uint64]string{}}
}

// Reserve takes one slot. It returns the owner that has it already, if any.
func (p *Pool) Reserve(slot uint64, owner string) (other string, ok bool) {
	if other, held := p.taken[slot]; held {
		return other, false
	}
	p.taken[slot] = owner
	return "", true
}

// Next takes the first free slot. False means that the pool is full.
func (p *Pool) Next(owner string) (uint64, bool) {
	for slot := range p.Size {
		if _, ok := p.Reserve(slot, owner); ok {
			return slot, true
		}
	}
	return 0, false
}

// Window is the half-open range of slots that a kind of key prefers: kinds that
// share a pool prefer different windows, so that they do not displace each other.
type Window struct{ Lo, Hi uint64 }

// All is the window of all slots.
func (p *Pool) All() Window { return Window{Hi: p.Size} }

// Part is the window from a/n to b/n of the pool.
func (p *Pool) Part(a, b, n uint64) Window { return Window{p.Size * a / n, p.Size * b / n} }

// probes is how many slots a key tries at random before it takes the next free one.
const probes = 64

// Take finds a free slot for a key: its preferred ones in the window, then the
// next free one in the window, then anywhere. False means that the pool is full.
func (p *Pool) Take(key string, w Window, owner string) (uint64, bool) {
	if uint64(len(p.taken)) >= p.Size {
		return 0, false
	}
	if w.Hi <= w.Lo || w.Hi > p.Size {
		w = p.All()
	}
	for i := range probes {
		slot := w.Lo + Hash(key, i)%(w.Hi-w.Lo)
		if _, ok := p.Reserve(slot, owner); ok {
			return slot, true
		}
	}
	for _, w := range []Window{w, p.All()} {
		for slot := w.Lo; slot < w.Hi; slot++ {
			if _, ok := p.Reserve(slot, owner); ok {
				return slot, true
			}
		}
	}
	return 0, false
}

// Hash is a number that depends on a key and the number of the attempt only.
func Hash(key string, attempt int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, attempt))
	return binary.BigEndian.Uint64(sum[:8])
}

// AddrPool allocates the addresses of one prefix.
type AddrPool struct {
	Prefix netip.Prefix
	*Pool
}

// NewAddrPool returns a pool of the host addresses of a prefix: all but the
// network's own and, in IPv4, the broadcast address.
func NewAddrPool(prefix netip.Prefix) AddrPool {
	p := AddrPool{prefix, NewPool(BlockCount(prefix, prefix.Addr().BitLen()))}
	p.Reserve(0, "the network itself")
	if prefix.Addr().Is4() && prefix.Bits() < 31 {
		p.Reserve(p.Size-1, "the broadcast address")
	}
	return p
}

// Claim takes a given address. If it is taken, Claim returns its owner.
func (p AddrPool) Claim(a netip.Addr, owner string) (other string, ok bool) {
	slot, ok := p.slot(a)
	if !ok {
		// Beyond the slots of a very large prefix nothing is allocated, so two
		// claims there can only collide with each other.
		slot = p.Size + Hash(a.String(), 0)>>1
	}
	return p.Reserve(slot, owner)
}

// Assign finds a free address for a key.
func (p AddrPool) Assign(key string, w Window, owner string) (netip.Addr, bool) {
	slot, ok := p.Take(key, w, owner)
	if !ok {
		return netip.Addr{}, false
	}
	return p.At(slot), true
}

// At is the address of a slot.
func (p AddrPool) At(slot uint64) netip.Addr {
	return NthBlock(p.Prefix, p.Prefix.Addr().BitLen(), slot).Addr()
}

func (p AddrPool) slot(a netip.Addr) (uint64, bool) {
	d := number(a)
	d.Sub(d, number(p.Prefix.Addr()))
	return d.Uint64(), d.IsUint64() && d.Uint64() < p.Size
}

// BlockCount is how many blocks of a prefix length a prefix holds, at most maxPool.
func BlockCount(prefix netip.Prefix, bits int) uint64 {
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

// NthBlock is the n-th block of the given prefix length inside a prefix. The
// block must exist.
func NthBlock(prefix netip.Prefix, bits int, n uint64) netip.Prefix {
	base := prefix.Addr()
	d := new(big.Int).SetUint64(n)
	d.Lsh(d, uint(base.BitLen()-bits)).Add(d, number(base))
	a, _ := netip.AddrFromSlice(d.FillBytes(make([]byte, base.BitLen()/8)))
	return netip.PrefixFrom(a, bits)
}

func number(a netip.Addr) *big.Int { return new(big.Int).SetBytes(a.AsSlice()) }

// The second byte of a MAC says what it is for.
const (
	Ether = 0x42 // eth0 of a node, client or pod
	VTEP  = 0x56 // the vxlan device of a node
)

// MACFor is the locally administered MAC for an address: 02, the purpose, and the
// IPv4 address itself, so that it is unique where the address is and readable in
// a capture. An IPv6 address is hashed.
func MACFor(purpose byte, a netip.Addr) topology.MAC {
	m := topology.MAC{0x02, purpose}
	if a.Is4() {
		b := a.As4()
		copy(m[2:], b[:])
		return m
	}
	binary.BigEndian.PutUint32(m[2:], uint32(Hash(a.String(), 0)))
	return m
}
