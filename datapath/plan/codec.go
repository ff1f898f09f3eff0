package plan

import (
	"bufio"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/netlab/netlab/datapath/plan/coder"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Encode writes the plan so that Decode reads an equal one. Whatever grows with the
// number of services, perhaps to a hundred thousand rules, goes through a coder: gob
// spends microseconds on every value of an interface type.
func Encode(w io.Writer, p *Plan) error {
	bare := Plan{Lab: p.Lab, Netns: make([]Netns, len(p.Netns))}
	copy(bare.Netns, p.Netns)
	c := coder.Writer(96 * p.rules())
	for i := range bare.Netns {
		n := &bare.Netns[i]
		codeFilters(c, n)
		n.Sets, n.Tables, n.NFT, n.Virtual, n.UDP, n.Cut = nil, nil, nil, nil, nil, nil
	}
	if c.Err() != nil {
		return fmt.Errorf("encode plan: %w", c.Err())
	}
	if err := gob.NewEncoder(w).Encode(&bare); err != nil {
		return fmt.Errorf("encode plan: %w", err)
	}
	if err := binary.Write(w, binary.BigEndian, uint64(len(c.Bytes()))); err != nil {
		return fmt.Errorf("encode plan: %w", err)
	}
	if _, err := w.Write(c.Bytes()); err != nil {
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

// maxRules bounds the size of the rules that Decode accepts, in bytes: ten times the
// size for a hundred thousand services.
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
		return nil, fmt.Errorf("decode plan: %w", coder.ErrBroken)
	}
	var b strings.Builder
	b.Grow(int(size))
	if _, err := io.CopyN(&b, in, int64(size)); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	c := coder.Reader(b.String())
	for i := range p.Netns {
		codeFilters(c, &p.Netns[i])
	}
	if c.Err() != nil {
		return nil, fmt.Errorf("decode plan: %w", c.Err())
	}
	return p, nil
}

// codeFilters codes what happens to packets beyond routing.
func codeFilters(c *coder.Coder, n *Netns) {
	coder.List(c, &n.Sets, ipset.Code)
	coder.List(c, &n.Tables, iptables.Code)
	coder.List(c, &n.NFT, nft.Code)
	coder.List(c, &n.Virtual, ipvs.Code)
	coder.List(c, &n.UDP, codeUDP)
	coder.List(c, &n.Cut, codeCut)
}

func codeUDP(c *coder.Coder, s *UDPService) {
	c.Origin(&s.Origin)
	coder.List(c, &s.To, (*coder.Coder).AddrPort)
	coder.Int(c, &s.NodePort)
	c.Bool(&s.IPv6)
	coder.List(c, &s.Endpoints, (*coder.Coder).AddrPort)
}

func codeCut(c *coder.Coder, x *Cut) {
	c.Origin(&x.Origin)
	c.Addr(&x.Pod)
	c.Bool(&x.Ingress)
	coder.List(c, &x.Allow, codeAllow)
}

func codeAllow(c *coder.Coder, a *CutAllow) {
	limited := a.Peer != nil // nil and empty mean the opposite of each other
	c.Bool(&limited)
	coder.List(c, &a.Peer, (*coder.Coder).Prefix)
	if limited && a.Peer == nil {
		a.Peer = []netip.Prefix{}
	}
	coder.String(c, &a.Proto)
	coder.Int(c, &a.First)
	coder.Int(c, &a.Last)
}
