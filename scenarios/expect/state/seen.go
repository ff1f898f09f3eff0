package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
)

// Plain is the encapsulation of packets that are in no tunnel.
const Plain = "none"

// Encapsulations are what can be around a packet.
func Encapsulations() []string {
	return []string{Plain, string(flow.InVXLAN), string(flow.InIPIP), string(flow.InUDP), string(flow.InWireGuard), string(flow.InESP)}
}

// Hides reports whether nothing is known of a packet inside an encapsulation: it is encrypted.
func Hides(encapsulation string) bool {
	return encapsulation == string(flow.InWireGuard) || encapsulation == string(flow.InESP)
}

// Seen is a claim about the packets that pass a link while a connection is made: what a capture
// shows there, which is before PREROUTING and after POSTROUTING.
type Seen struct {
	Host
	Link                string
	Direction           string // in or out; "": both
	Protocol            string // of the packet itself, not of what is around it; "": any
	Source, Destination Endpoint
	TTL                 int    // 0: any
	Encapsulation       string // "": any or none
	OuterSource         Endpoint
	OuterDestination    Endpoint
	Count               *int
	Absent              bool
}

// Subject is the link.
func (s *Seen) Subject() string { return "packets at " + s.Link }

// Wanted describes the packet.
func (s *Seen) Wanted() string {
	words := amount(s.Absent, s.Count)
	for _, w := range []string{s.Direction, s.Protocol} {
		if w != "" {
			words = append(words, w)
		}
	}
	words = described(words, "from", s.Source)
	words = described(words, "to", s.Destination)
	if s.TTL != 0 {
		words = append(words, fmt.Sprintf("ttl %d", s.TTL))
	}
	switch s.Encapsulation {
	case "":
	case Plain:
		words = append(words, "in no tunnel")
	default:
		words = append(words, "in "+s.Encapsulation)
	}
	words = described(words, "outside from", s.OuterSource)
	words = described(words, "outside to", s.OuterDestination)
	return strings.Join(words, " ")
}

// PerConnection: each has its packets.
func (s *Seen) PerConnection() bool { return true }

// Judge holds the packets against the claim.
func (s *Seen) Judge(views []View) Verdict { return each(views, s.judge) }

func (s *Seen) judge(v *View) Verdict {
	var m matching
	var there []string
	for _, p := range v.Packets {
		if p.Netns != s.Netns || p.Link != s.Link {
			continue
		}
		there = append(there, p.String())
		if (s.Direction != "" && (s.Direction == "out") != p.Out) || s.Protocol != "" && (p.Hidden || s.Protocol != p.Protocol) ||
			s.TTL != 0 && (p.Hidden || s.TTL != p.TTL) || p.Hidden && (s.Source.given() || s.Destination.given()) {
			continue
		}
		m.add(s.Source.fits(p.Source, v.Paper), s.Destination.fits(p.Destination, v.Paper), s.around(&p, v.Paper))
	}
	what := "such packet"
	if s.Absent {
		what = "one"
	}
	out := m.judge(some(there), what, s.Absent, s.Count)
	if v.Paper && s.Count != nil && m.sure > 0 && v.Protocol != flow.UDP {
		out.Wrong, out.Unknown = nil, "how many packets a connection has in all is not on paper"
	}
	return out
}

// around judges the tunnel that a packet is in.
func (s *Seen) around(p *flow.Packet, paper bool) fit {
	outside := s.OuterSource.given() || s.OuterDestination.given()
	if len(p.Around) == 0 {
		if s.Encapsulation != "" && s.Encapsulation != Plain || outside {
			return no
		}
		return yes
	}
	best := no
	for _, o := range p.Around {
		if s.Encapsulation == "" || s.Encapsulation == string(o.Kind) {
			best = max(best, slices.Min([]fit{s.OuterSource.fits(o.Source, paper), s.OuterDestination.fits(o.Destination, paper)}))
		}
	}
	return best
}
