// Package coder carries values between processes: one function per type both writes
// and reads it. Reflection, as in encoding/gob, takes three times as long, which counts
// when a plan has a hundred thousand rules.
package coder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"

	"github.com/netlab/netlab/datapath/plan/origin"
)

// ErrBroken says that the input was not written by a Coder.
var ErrBroken = errors.New("broken encoding")

// Coder writes values, or reads them into the same places. Numbers are varints, texts
// are preceded by their length. After an error, reading yields zero values.
type Coder struct {
	reading bool
	b       []byte // what has been written
	in      string // the whole input: texts are slices of it, without copying
	at      int    // in the input: a position costs less to keep than a slice
	text    string // the previous Text
	last    origin.Ref
	inBlock bool
	memory  *Memory // may be nil
	err     error
}

// Writer returns a Coder that writes after head, with room for size bytes.
func Writer(head []byte, size int) *Coder {
	return &Coder{b: append(make([]byte, 0, len(head)+size), head...)}
}

// Reader returns a Coder that reads what another one wrote. It takes over what the memory, if
// there is one, has from a Reader before.
func Reader(in string, memory *Memory) *Coder { return &Coder{reading: true, in: in, memory: memory} }

// Bytes returns the head and what has been written.
func (c *Coder) Bytes() []byte { return c.b }

// Left is the number of bytes that remain to be read.
func (c *Coder) Left() int { return len(c.in) - c.at }

// Err returns the first error.
func (c *Coder) Err() error { return c.err }

// Reading reports whether values are read.
func (c *Coder) Reading() bool { return c.reading }

func (c *Coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.at = len(c.in)
}

func (c *Coder) put(v uint64) {
	for ; v >= 0x80; v >>= 7 {
		c.b = append(c.b, byte(v)|0x80)
	}
	c.b = append(c.b, byte(v))
}

func (c *Coder) take() uint64 {
	if c.at < len(c.in) && c.in[c.at] < 0x80 { // most numbers are small
		c.at++
		return uint64(c.in[c.at-1])
	}
	return c.takeLong()
}

func (c *Coder) takeLong() uint64 {
	v, n := binary.Uvarint([]byte(c.in[c.at:min(c.at+binary.MaxVarintLen64, len(c.in))]))
	if n <= 0 {
		c.fail(ErrBroken)
		return 0
	}
	c.at += n
	return v
}

// size reads the length of a list whose elements take at least a byte each.
func (c *Coder) size() int {
	n := c.take()
	if n > uint64(c.Left()) {
		c.fail(ErrBroken)
		return 0
	}
	return int(n)
}

// part reads n bytes as a text.
func (c *Coder) part(n int) string {
	c.at += n
	return c.in[c.at-n : c.at]
}

// Bool codes a truth value.
func (c *Coder) Bool(v *bool) {
	switch {
	case c.reading:
		*v = c.take() == 1
	case *v:
		c.b = append(c.b, 1)
	default:
		c.b = append(c.b, 0)
	}
}

// Float codes a number to the last bit.
func (c *Coder) Float(v *float64) {
	if c.reading {
		*v = math.Float64frombits(c.take())
		return
	}
	c.put(math.Float64bits(*v))
}

// Text codes a text that often equals the previous one and otherwise seldom repeats: 0
// for the same, else its length plus one.
func (c *Coder) Text(s *string) {
	switch {
	case !c.reading && *s == c.text:
		c.put(0)
	case !c.reading:
		c.text = *s
		c.put(uint64(len(*s)) + 1)
		c.b = append(c.b, *s...)
	default:
		if n := c.take(); n > uint64(c.Left())+1 {
			c.fail(ErrBroken)
		} else if n > 0 {
			c.text = c.part(int(n) - 1)
		}
		*s = c.text
	}
}

// Origin codes where a value comes from, or that it is the same as for the previous
// one.
func (c *Coder) Origin(r *origin.Ref) {
	differs := !c.reading && *r != c.last
	if c.Bool(&differs); differs {
		if !c.reading {
			c.last = *r
		}
		String(c, &c.last.Object)
		String(c, &c.last.File)
		Int(c, &c.last.Line)
	}
	if c.reading {
		*r = c.last
	}
}

// Addr codes an address, or none.
func (c *Coder) Addr(a *netip.Addr) {
	if !c.reading {
		s := a.AsSlice()
		c.b = append(append(c.b, byte(len(s))), s...)
		return
	}
	*a, _ = netip.AddrFromSlice([]byte(c.part(c.size())))
}

// AddrPort codes an address and a port.
func (c *Coder) AddrPort(p *netip.AddrPort) {
	addr, port := p.Addr(), p.Port()
	c.Addr(&addr)
	if Int(c, &port); c.reading {
		*p = netip.AddrPortFrom(addr, port)
	}
}

// Prefix codes a prefix, or none.
func (c *Coder) Prefix(p *netip.Prefix) {
	addr, bits := p.Addr(), p.Bits()+1
	c.Addr(&addr)
	if Int(c, &bits); c.reading {
		*p = netip.PrefixFrom(addr, bits-1)
	}
}

// Int codes a number; negative ones take ten bytes.
func Int[T ~int | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](c *Coder, v *T) {
	if c.reading {
		*v = T(c.take())
		return
	}
	c.put(uint64(*v))
}

// String codes a text.
func String[T ~string](c *Coder, s *T) {
	if c.reading {
		*s = T(c.part(c.size()))
		return
	}
	c.put(uint64(len(*s)))
	c.b = append(c.b, *s...)
}

// Strings codes texts.
func Strings[T ~string](c *Coder, list *[]T) { List(c, list, String) }

// List codes a list, each element with the given function. An empty list is read as
// nil.
func List[T any](c *Coder, list *[]T, each func(*Coder, *T)) {
	if c.reading {
		*list = nil
		n := c.size()
		if n >= long && !c.inBlock {
			*list = readBlocks(c, n, each)
			return
		}
		if n > 0 {
			*list = make([]T, n)
		}
	} else {
		c.put(uint64(len(*list)))
		if len(*list) >= long && !c.inBlock {
			writeBlocks(c, *list, each)
			return
		}
	}
	for i := range *list {
		each(c, &(*list)[i])
	}
}

// Kinds are the types that a value of interface type can have.
type Kinds[T any] struct {
	prototypes []T
	types      []reflect.Type
}

// KindsOf takes one value of each type, with which reading starts. Their order is part
// of the encoding.
func KindsOf[T any](prototypes ...T) *Kinds[T] {
	k := &Kinds[T]{prototypes: prototypes}
	for _, p := range prototypes {
		k.types = append(k.types, reflect.TypeOf(p))
	}
	return k
}

// All returns the prototypes.
func (k *Kinds[T]) All() []T { return k.prototypes }

// Code codes which of the types a value has. When reading, the value becomes the
// prototype, for the caller to fill in. A nil value has no type.
func (k *Kinds[T]) Code(c *Coder, v *T) {
	if !c.reading {
		kind := reflect.TypeOf(*v)
		if kind == nil {
			c.put(0)
			return
		}
		for i, t := range k.types {
			if t == kind {
				c.put(uint64(i) + 1)
				return
			}
		}
		c.fail(fmt.Errorf("no code for %T", *v))
		return
	}
	switch n := c.take(); {
	case n > uint64(len(k.prototypes)):
		c.fail(ErrBroken)
	case n > 0:
		*v = k.prototypes[n-1]
	}
}
