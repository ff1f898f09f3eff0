package expect

import (
	"net/netip"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// Reach is one expect block about connections, as resolved: every pair of From
// and To is dialed, and each must end as the other fields say.
type Reach struct {
	Name     string
	Origin   topology.Origin // of the block: the location of the spec
	From     []Place
	To       []Target
	Protocol flow.Protocol
	Outcome  flow.Outcome
	Answers  []string // agents, one of which answers, and each of which does; nil: anybody
	// Sources has one entry per From when it is set: the server must see an
	// address inside one of the entry's prefixes.
	Sources [][]netip.Prefix
	Spread  *Spread
	Count   int           // connections per pair; 0: as many as Answers and Spread need
	Within  time.Duration // deadline of one connection
	Retry   time.Duration // until when to try again after a wrong result
}

// Place is somebody who can dial.
type Place struct {
	Name  string // as the reports show it: laptop, web-0, node1
	Netns string // in the plan
	Addrs []netip.Addr
}

// Target is something that can be dialed.
type Target struct {
	Name string // as the reports show it: service web:80, 192.168.0.11:31380
	Addr netip.AddrPort
	// NotFound is set when the name did not resolve: the outcome is dns.
	NotFound bool
}

// Spread asks that answers are balanced.
type Spread struct {
	Tolerance float64            // allowed deviation of each share, as a fraction of it
	Weights   map[string]float64 // expected share per agent; nil: equal shares
}
