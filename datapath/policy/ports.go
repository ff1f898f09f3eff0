package policy

import (
	"cmp"
	"slices"

	"github.com/netlab/netlab/topology"
)

// PortRange is a range of ports of one protocol, ends included.
type PortRange struct {
	Protocol    topology.Protocol
	First, Last uint16
}

// lastPort is the highest port.
const lastPort = 65535

// All reports whether the range is every port of its protocol.
func (r PortRange) All() bool { return r.First == 0 && r.Last == lastPort }

// mergePorts returns the fewest ranges with the same ports, sorted.
func mergePorts(list []PortRange) []PortRange {
	slices.SortFunc(list, func(a, b PortRange) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	var out []PortRange
	for _, r := range list {
		if n := len(out); n > 0 && out[n-1].Protocol == r.Protocol && int(r.First) <= int(out[n-1].Last)+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

// compare orders members by address, protocol and port.
func (m Member) compare(other Member) int {
	return cmp.Or(m.Addr.Compare(other.Addr), cmp.Compare(m.Protocol, other.Protocol), cmp.Compare(m.Port, other.Port))
}

// ProtocolPorts are the ports of a rule that are of one protocol.
type ProtocolPorts struct {
	Protocol topology.Protocol // "": any packet of any protocol
	Ranges   []PortRange
	Names    []string // in the order of the policy
}

// ByProtocol returns the ports of a rule, by protocol. A protocol all of whose ports match has
// neither ranges nor names.
func (r *Rule) ByProtocol() []ProtocolPorts {
	if r.AnyPort {
		return []ProtocolPorts{{}}
	}
	var out []ProtocolPorts
	for _, proto := range []topology.Protocol{topology.SCTP, topology.TCP, topology.UDP} {
		p, all := ProtocolPorts{Protocol: proto}, false
		for _, x := range r.Ranges {
			if x.Protocol == proto {
				p.Ranges, all = append(p.Ranges, x), all || x.All()
			}
		}
		for _, x := range r.names {
			if x.protocol == proto {
				p.Names = append(p.Names, x.name)
			}
		}
		switch {
		case all:
			out = append(out, ProtocolPorts{Protocol: proto})
		case len(p.Ranges) > 0 || len(p.Names) > 0:
			out = append(out, p)
		}
	}
	return out
}

// PortsNamed resolves a name on pods, sorted: both name and protocol have to be declared.
func PortsNamed(pods []*topology.Pod, name string, proto topology.Protocol, ipv6 bool) []Member {
	return members(pods, []portName{{name, proto}}, ipv6)
}
