package plan

import (
	"bufio"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
)

// Encode writes the plan so that Decode reads an equal one. What grows with
// services, perhaps a hundred thousand rules, is written by hand: gob spends
// microseconds on every value of an interface type.
func Encode(w io.Writer, p *Plan) error {
	bare := Plan{Lab: p.Lab, Netns: make([]Netns, len(p.Netns))}
	copy(bare.Netns, p.Netns)
	for i := range bare.Netns {
		n := &bare.Netns[i]
		n.Sets, n.Tables, n.NFT, n.Virtual, n.UDP, n.Cut = nil, nil, nil, nil, nil, nil
	}
	rules := p.rules()
	e := encoder{b: make([]byte, 0, 96*rules)}
	for i := range p.Netns {
		n := &p.Netns[i]
		e.sets(n.Sets)
		e.tables(n.Tables)
		e.nft(n.NFT)
		e.virtual(n.Virtual)
		e.udp(n.UDP)
		e.cuts(n.Cut)
	}
	if e.err != nil {
		return e.err
	}
	if err := gob.NewEncoder(w).Encode(&bare); err != nil {
		return fmt.Errorf("encode plan: %w", err)
	}
	if err := binary.Write(w, binary.BigEndian, uint64(len(e.b))); err != nil {
		return fmt.Errorf("encode plan: %w", err)
	}
	if _, err := w.Write(e.b); err != nil {
		return fmt.Errorf("encode plan: %w", err)
	}
	return nil
}

// rules is the number of iptables rules of the plan.
func (p *Plan) rules() int {
	n := 0
	for i := range p.Netns {
		for _, t := range p.Netns[i].Tables {
			for _, c := range t.Chains {
				n += len(c.Rules)
			}
		}
	}
	return n
}

// maxRules bounds what Decode takes for the rules of a plan, in bytes: ten times as
// much as a hundred thousand services make.
const maxRules = 1 << 30

// Decode reads a plan that Encode wrote. Unless r is a *bufio.Reader, it may read
// beyond the plan.
func Decode(r io.Reader) (*Plan, error) {
	in := bufio.NewReader(r) // gob reads no further than its value from a byte reader
	p := &Plan{}
	if err := gob.NewDecoder(in).Decode(p); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	var size uint64
	if err := binary.Read(in, binary.BigEndian, &size); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	if size > maxRules {
		return nil, fmt.Errorf("decode plan: %w", errBroken)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	d := decoder{b: b, all: string(b)}
	for i := range p.Netns {
		n := &p.Netns[i]
		n.Sets = d.sets()
		n.Tables = d.tables()
		n.NFT = d.nft()
		n.Virtual = d.virtual()
		n.UDP = d.udp()
		n.Cut = d.cuts()
	}
	if d.err != nil {
		return nil, fmt.Errorf("decode plan: %w", d.err)
	}
	return p, nil
}

// Tags of the matches and targets.
const (
	tagNone = iota
	tagSrc
	tagDst
	tagInIf
	tagOutIf
	tagProto
	tagDPort
	tagAddrType
	tagMark
	tagCTState
	tagRandom
	tagComment
	tagJump
	tagReturn
	tagAccept
	tagDrop
	tagReject
	tagDNAT
	tagMasquerade
	tagOrMark
	tagXorMark
	tagRecent
	tagPhysdevIsIn
	tagIPVS
	tagMatchSet
	tagDPorts
	tagMultiPort
	tagPhysdev
	tagLimit
	tagICMPType
	tagGoto
	tagSetMark
	tagNFLog
)

// encoder writes numbers as varints, and texts with their length before them. That
// is faster than looking up which of them occurred before.
type encoder struct {
	b    []byte
	text string // of the comment before, which neighbours often share
	last Origin // of the rule before: most rules serve the same as their neighbour
	err  error
}

func (e *encoder) uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
		return
	}
	e.b = append(e.b, 0)
}

func (e *encoder) string(s string) {
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

// comment writes text that seldom occurs again, except in the next rule: 0 for the
// text before, else its length and one more.
func (e *encoder) comment(s string) {
	if s == e.text {
		e.uint(0)
		return
	}
	e.text = s
	e.uint(uint64(len(s)) + 1)
	e.b = append(e.b, s...)
}

// origin writes where a rule comes from, or that it is where the one before does.
func (e *encoder) origin(o Origin) {
	e.bool(o != e.last)
	if o == e.last {
		return
	}
	e.last = o
	e.string(o.Object)
	e.string(o.File)
	e.uint(uint64(o.Line))
}

func (e *encoder) addr(a netip.Addr) {
	s := a.AsSlice()
	e.b = append(append(e.b, byte(len(s))), s...)
}

func (e *encoder) prefix(p netip.Prefix) {
	e.addr(p.Addr())
	e.uint(uint64(p.Bits() + 1))
}

func (e *encoder) tables(list []Table) {
	e.uint(uint64(len(list)))
	for i := range list {
		t := &list[i]
		e.bool(t.IPv6)
		e.string(t.Name)
		e.uint(uint64(len(t.Chains)))
		for j := range t.Chains {
			c := &t.Chains[j]
			e.string(c.Name)
			e.string(c.Policy)
			e.uint(uint64(len(c.Rules)))
			for k := range c.Rules {
				e.rule(&c.Rules[k])
			}
		}
	}
}

func (e *encoder) udp(list []UDPService) {
	e.uint(uint64(len(list)))
	for i := range list {
		s := &list[i]
		e.origin(s.Origin)
		e.addrPorts(s.To)
		e.uint(uint64(s.NodePort))
		e.bool(s.IPv6)
		e.addrPorts(s.Endpoints)
	}
}

func (e *encoder) addrPorts(list []netip.AddrPort) {
	e.uint(uint64(len(list)))
	for _, a := range list {
		e.addrPort(a)
	}
}

func (e *encoder) rule(r *Rule) {
	e.origin(r.Origin)
	e.string(r.Raw)
	e.uint(uint64(len(r.Matches)))
	for _, m := range r.Matches {
		e.match(m)
	}
	e.target(r.Target)
}

func (e *encoder) tag(t byte) { e.b = append(e.b, t) }

func (e *encoder) match(m Match) {
	switch m := m.(type) {
	case Src:
		e.tag(tagSrc)
		e.prefix(m.Prefix)
		e.bool(m.Not)
	case Dst:
		e.tag(tagDst)
		e.prefix(m.Prefix)
		e.bool(m.Not)
	case InIf:
		e.tag(tagInIf)
		e.string(m.Name)
		e.bool(m.Not)
	case OutIf:
		e.tag(tagOutIf)
		e.string(m.Name)
		e.bool(m.Not)
	case Proto:
		e.tag(tagProto)
		e.string(m.Name)
	case DPort:
		e.tag(tagDPort)
		e.uint(uint64(m.Port))
	case AddrType:
		e.tag(tagAddrType)
		e.string(m.Src)
		e.string(m.Dst)
		e.bool(m.NotSrc)
	case PhysdevIsIn:
		e.tag(tagPhysdevIsIn)
		e.bool(m.Not)
	case IPVS:
		e.tag(tagIPVS)
		e.addr(m.Addr)
		e.string(m.Proto)
		e.uint(uint64(m.Port))
	case MatchSet:
		e.tag(tagMatchSet)
		e.string(m.Set)
		e.string(m.Parts)
		e.bool(m.Not)
	case DPorts:
		e.tag(tagDPorts)
		e.uint(uint64(m.First))
		e.uint(uint64(m.Last))
	case MultiPort:
		e.tag(tagMultiPort)
		e.string(m.Ports)
	case Physdev:
		e.tag(tagPhysdev)
		e.string(m.In)
		e.string(m.Out)
		e.bool(m.Bridged)
	case Limit:
		e.tag(tagLimit)
		e.string(m.Rate)
		e.uint(uint64(m.Burst))
	case ICMPType:
		e.tag(tagICMPType)
		e.uint(uint64(m.Type))
		e.uint(uint64(m.Code))
		e.bool(m.AnyCode)
		e.bool(m.IPv6)
	case Mark:
		e.tag(tagMark)
		e.uint(uint64(m.Value))
		e.uint(uint64(m.Mask))
		e.bool(m.Not)
	case CTState:
		e.tag(tagCTState)
		e.strings(m.States)
		e.bool(m.Not)
	case Random:
		e.tag(tagRandom)
		e.uint(math.Float64bits(m.Probability))
	case Recent:
		e.tag(tagRecent)
		e.string(m.List)
		e.bool(m.Set)
		e.uint(uint64(m.Seconds))
		e.bool(m.Reap)
		e.bool(m.IPv6)
	case Comment:
		e.tag(tagComment)
		e.comment(m.Text)
	default:
		e.err = fmt.Errorf("encode plan: unknown match %T", m)
	}
}

func (e *encoder) target(t Target) {
	switch t := t.(type) {
	case nil:
		e.tag(tagNone)
	case Jump:
		e.tag(tagJump)
		e.string(t.Chain)
	case Goto:
		e.tag(tagGoto)
		e.string(t.Chain)
	case SetMark:
		e.tag(tagSetMark)
		e.uint(uint64(t.Value))
		e.uint(uint64(t.Mask))
	case NFLog:
		e.tag(tagNFLog)
		e.uint(uint64(t.Group))
		e.string(t.Prefix)
	case Return:
		e.tag(tagReturn)
	case Accept:
		e.tag(tagAccept)
	case Drop:
		e.tag(tagDrop)
	case Reject:
		e.tag(tagReject)
		e.string(t.With)
	case DNAT:
		e.tag(tagDNAT)
		e.addrPort(t.To)
	case Masquerade:
		e.tag(tagMasquerade)
		e.bool(t.RandomFully)
	case OrMark:
		e.tag(tagOrMark)
		e.uint(uint64(t.Bits))
	case XorMark:
		e.tag(tagXorMark)
		e.uint(uint64(t.Bits))
	default:
		e.err = fmt.Errorf("encode plan: unknown target %T", t)
	}
}

// errBroken says that the input was not written by Encode.
var errBroken = errors.New("broken rule encoding")
