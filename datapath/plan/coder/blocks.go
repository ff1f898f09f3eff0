package coder

import (
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/netlab/netlab/datapath/plan/origin"
)

// A long list is written as blocks, each of which can be read by itself. Where a block ends depends
// on its last element, not on how many came before. So a list with one element more differs
// from the one before in one block, and a reader that remembers the others need not read them.

// long is how many elements make a list long; a block has that many on average, and longest at
// most.
const (
	long    = 64
	longest = 1024
)

// Memory holds the blocks of what was read last. Lists share elements with those read before,
// so nobody may change them.
type Memory struct {
	last, next []block
	at         int // in last: blocks mostly come in the same order
}

type block struct {
	text string
	list any // []T: the elements
	all  any // []T: the list that they are in, for its first block
}

// find returns the place of a block that was there last time, or -1.
func (m *Memory) find(text string) int {
	for i := m.at; i < len(m.last); i++ {
		if m.last[i].text == text {
			m.at = i + 1
			return i
		}
	}
	return -1
}

// Turn forgets what the last reader did not read again.
func (m *Memory) Turn() { m.last, m.next, m.at = m.next, nil, 0 }

// Blocks have a head: how many elements, and how many bytes follow.
const blockHead = 6

func writeBlocks[T any](c *Coder, list []T, each func(*Coder, *T)) {
	c.inBlock = true
	for len(list) > 0 {
		c.last, c.text = origin.Ref{}, ""
		head, n := len(c.b), 0
		c.b = append(c.b, make([]byte, blockHead)...)
		for ended := false; !ended && n < min(len(list), longest); n++ {
			start := len(c.b)
			each(c, &list[n])
			ended = crc32.Checksum(c.b[start:], castagnoli)%long == 0
		}
		binary.BigEndian.PutUint16(c.b[head:], uint16(n))
		binary.BigEndian.PutUint32(c.b[head+2:], uint32(len(c.b)-head-blockHead))
		list = list[n:]
	}
	c.last, c.text, c.inBlock = origin.Ref{}, "", false
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// part of a list: a block, where it is known from in the memory (-1: nowhere).
type part struct {
	n     int
	text  string
	known int
}

func readBlocks[T any](c *Coder, n int, each func(*Coder, *T)) []T {
	m := c.memory
	if m == nil {
		m = &Memory{}
	}
	parts := c.parts(m, n)
	if c.err != nil {
		return nil
	}
	list, shared := sharedList[T](m, parts, n)
	if !shared {
		list = make([]T, n)
	}
	rest := list
	for i, p := range parts {
		b := block{text: p.text, list: rest[:p.n:p.n]}
		if i == 0 {
			b.all = list
		}
		old, ok := []T(nil), false
		if p.known >= 0 {
			b.text = m.last[p.known].text
			old, ok = m.last[p.known].list.([]T)
		}
		switch {
		case shared:
		case ok && len(old) == p.n:
			copy(rest, old)
		default:
			b.text = strings.Clone(p.text) // the block may outlive the rest of the input
			readElements(c, b.text, rest[:p.n], each)
		}
		m.next, rest = append(m.next, b), rest[p.n:]
	}
	return list
}

// parts finds the blocks of a list of n elements.
func (c *Coder) parts(m *Memory, n int) (list []part) {
	for n > 0 {
		if c.Left() < blockHead {
			c.fail(ErrBroken)
			return nil
		}
		head := []byte(c.part(blockHead))
		p := part{n: int(binary.BigEndian.Uint16(head))}
		size := int(binary.BigEndian.Uint32(head[2:]))
		if p.n == 0 || p.n > n || size > c.Left() {
			c.fail(ErrBroken)
			return nil
		}
		p.text = c.part(size)
		p.known = m.find(p.text)
		list, n = append(list, p), n-p.n
	}
	return list
}

// sharedList is the list of last time, if the parts are exactly its blocks.
func sharedList[T any](m *Memory, parts []part, n int) ([]T, bool) {
	for i, p := range parts {
		if p.known < 0 || p.known != parts[0].known+i {
			return nil, false
		}
	}
	list, ok := m.last[parts[0].known].all.([]T)
	return list, ok && len(list) == n
}

// readElements reads all elements of a block.
func readElements[T any](c *Coder, text string, list []T, each func(*Coder, *T)) {
	in, at := c.in, c.at
	c.in, c.at, c.inBlock = text, 0, true
	c.last, c.text = origin.Ref{}, ""
	for i := range list {
		each(c, &list[i])
	}
	if c.Left() > 0 {
		c.fail(ErrBroken)
	}
	c.in, c.at, c.inBlock = in, at, false
	c.last, c.text = origin.Ref{}, ""
	if c.err != nil {
		c.at = len(in)
	}
}
