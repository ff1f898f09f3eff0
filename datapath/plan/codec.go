package plan

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/coder"
	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/plan/zone"
)

// Encode returns the plan as bytes from which Decode makes an equal one. Whatever grows
// with the number of services, perhaps to a hundred thousand rules, goes through a coder:
// gob spends microseconds on every value of an interface type.
func Encode(p *Plan) ([]byte, error) {
	bare := Plan{Lab: p.Lab, Netns: make([]Netns, len(p.Netns))}
	copy(bare.Netns, p.Netns)
	for i := range bare.Netns {
		n := &bare.Netns[i]
		n.Sets, n.Tables, n.NFT, n.Virtual, n.UDP, n.Cut, n.ProxyPorts, n.Records, n.Resolvers, n.Routing = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
	}
	var head bytes.Buffer
	if err := gob.NewEncoder(&head).Encode(&bare); err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	c := coder.Writer(head.Bytes(), 96*p.rules())
	for i := range p.Netns {
		codeFilters(c, &p.Netns[i])
	}
	if c.Err() != nil {
		return nil, fmt.Errorf("encode plan: %w", c.Err())
	}
	return c.Bytes(), nil
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

// Decode makes a plan of what Encode returned. The texts of the plan are parts of it.
func Decode(encoded string) (*Plan, error) { return new(Decoder).Decode(encoded) }

// Decoder decodes plans that differ little: what is as in the plan before is taken from that, so
// nobody may change them.
type Decoder struct {
	head   string // how the last plan began, up to its rules
	bare   Plan   // without rules
	memory coder.Memory
}

// Decode is like the function of that name.
func (d *Decoder) Decode(encoded string) (*Plan, error) {
	if d.head == "" || !strings.HasPrefix(encoded, d.head) {
		in := strings.NewReader(encoded) // gob reads no further than its value from a byte reader
		d.head, d.bare = "", Plan{}
		if err := gob.NewDecoder(in).Decode(&d.bare); err != nil {
			return nil, fmt.Errorf("decode plan: %w", err)
		}
		d.head = strings.Clone(encoded[:len(encoded)-in.Len()])
	}
	p := &Plan{Lab: d.bare.Lab, Netns: slices.Clone(d.bare.Netns)}
	c := coder.Reader(encoded[len(d.head):], &d.memory)
	for i := range p.Netns {
		codeFilters(c, &p.Netns[i])
	}
	d.memory.Turn()
	if c.Left() > 0 {
		return nil, fmt.Errorf("decode plan: %w", coder.ErrBroken)
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
	coder.List(c, &n.UDP, conntrack.CodeUDP)
	coder.List(c, &n.Cut, conntrack.CodeCut)
	coder.List(c, &n.ProxyPorts, occupant.CodeProxyPort)
	coder.List(c, &n.Records, zone.Code)
	coder.List(c, &n.Resolvers, occupant.CodeResolver)
	coder.List(c, &n.Routing, httproute.Code)
}
