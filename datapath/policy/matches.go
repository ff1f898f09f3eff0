package policy

import (
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// PortMatches returns the conditions of iptables for the ports of a rule by number:
// a packet has to match all of one element. A rule about any port has one element
// without conditions; one with names only has none.
func (r *Rule) PortMatches() [][]iptables.Match {
	if r.AnyPort {
		return [][]iptables.Match{nil}
	}
	var out [][]iptables.Match
	for rest := r.Ranges; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Protocol == rest[0].Protocol {
			n++
		}
		proto := iptables.Proto{Name: string(rest[0].Protocol)}
		for _, m := range portMatches(rest[:n]) {
			if m == nil {
				out = append(out, []iptables.Match{proto})
				continue
			}
			out = append(out, []iptables.Match{proto, m})
		}
		rest = rest[n:]
	}
	return out
}

// multiPorts is how many places a multiport match has; a range takes two
// (XT_MULTI_PORTS in the kernel's xt_multiport.h).
const multiPorts = 15

// portMatches are the conditions for ranges of one protocol; nil: any port.
func portMatches(ranges []PortRange) []iptables.Match {
	if len(ranges) == 1 {
		switch r := ranges[0]; {
		case r.All():
			return []iptables.Match{nil}
		case r.First == r.Last:
			return []iptables.Match{iptables.DPort{Port: r.First}}
		default:
			return []iptables.Match{iptables.DPorts{First: r.First, Last: r.Last}}
		}
	}
	return MultiPorts(ranges)
}

// MultiPorts are the conditions for ranges of one protocol, as few as hold them all.
func MultiPorts(ranges []PortRange) (out []iptables.Match) {
	var words []string
	places := 0
	flush := func() {
		out = append(out, iptables.MultiPort{Ports: strings.Join(words, ",")})
		words, places = nil, 0
	}
	for _, r := range ranges {
		word, takes := strconv.Itoa(int(r.First)), 1
		if r.First != r.Last {
			word, takes = word+":"+strconv.Itoa(int(r.Last)), 2
		}
		if places+takes > multiPorts {
			flush()
		}
		words, places = append(words, word), places+takes
	}
	if len(words) > 0 {
		flush()
	}
	return out
}

// NeighbourDiscovery are the ICMPv6 messages by which hosts find their neighbours
// and routers (RFC 4861). They pass the hooks of bridged packets, where ARP does not,
// and belong to no connection: a rule that denies them cuts a pod off its network.
func NeighbourDiscovery() []iptables.Match {
	var out []iptables.Match
	for t := uint8(133); t <= 136; t++ {
		out = append(out, iptables.ICMPType{Type: t, AnyCode: true, IPv6: true})
	}
	return out
}

// maxComment is how long a comment may be (XT_MAX_COMMENT_LEN, with a zero byte).
const maxComment = 255

// Comment says what a rule serves, truncated to what the kernel accepts.
func Comment(text string) iptables.Match {
	return iptables.Comment{Text: text[:min(len(text), maxComment)]}
}
