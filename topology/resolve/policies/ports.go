package policies

import (
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// lastPort is the highest port.
const lastPort = 65535

// policyPorts resolves the ports of a rule that can be used.
func (r *resolver) policyPorts(rule topology.PolicyRuleSpec) []topology.PolicyPort {
	var out []topology.PolicyPort
	for _, s := range rule.Ports {
		if p, ok := r.policyPort(s, rule.Origin); ok {
			out = append(out, p)
		}
	}
	return out
}

// policyPort resolves a port of a rule. It reports false where it cannot be used.
func (r *resolver) policyPort(s topology.PolicyPortSpec, rule topology.Origin) (topology.PolicyPort, bool) {
	before := len(r.Problems)
	out := topology.PolicyPort{Protocol: r.Protocol(s.Protocol), Last: lastPort, Origin: s.Origin}
	end := s.EndPort
	if !s.Port.Set {
		if end.Set {
			r.Errorf(draft.At(end.Origin, s.Origin, rule), "End port without port", "end_port may not be specified when port is not specified. Add port = 1, or remove end_port.")
		}
		return out, len(r.Problems) == before && s.Port.Origin == (topology.Origin{})
	}
	n, err := strconv.Atoi(s.Port.Value)
	if err != nil {
		out.Name, out.Last = s.Port.Value, 0
		if why := badPortName(out.Name); why != "" {
			r.Errorf(draft.At(s.Port.Origin, s.Origin, rule), "Invalid port name", "The port name %q %s. Use a number, or a name such as \"http\".", draft.Shorten(out.Name), why)
		}
		if end.Set {
			r.Errorf(draft.At(end.Origin, s.Origin, rule), "End port with port name", "end_port may not be specified when port is non-numeric. Use a number for port, or remove end_port.")
		}
		return out, len(r.Problems) == before
	}
	inRange := func(n int) bool { return n >= 1 && n <= lastPort }
	switch {
	case !inRange(n):
		r.Errorf(draft.At(s.Port.Origin, s.Origin, rule), "Port out of range", "The port %d is out of range. Use a number from 1 to %d.", n, lastPort)
	case end.Set && !inRange(end.Value):
		r.Errorf(draft.At(end.Origin, s.Origin, rule), "Port out of range", "The end port %d is out of range. Use a number from %d to %d.", end.Value, n, lastPort)
	case end.Set && end.Value < n:
		r.Errorf(draft.At(end.Origin, s.Origin, rule), "End port below port", "end_port %d must be greater than or equal to port %d. Swap them.", end.Value, n)
	}
	if len(r.Problems) > before {
		return out, false
	}
	out.First, out.Last = uint16(n), uint16(end.Or(n))
	return out, end.Set || end.Origin == (topology.Origin{})
}

// badPortName says why a text is not a port name (IsValidPortName
// of apimachinery, RFC 6335), or "".
func badPortName(s string) string {
	lower := func(c rune) bool { return c >= 'a' && c <= 'z' }
	switch {
	case s == "" || len(s) > 15:
		return "must have 1 to 15 characters"
	case strings.ContainsFunc(s, func(c rune) bool { return !draft.IsLabelRune(c) }):
		return "must contain only a-z, 0-9 and \"-\""
	case !strings.ContainsFunc(s, lower):
		return "must contain at least one letter"
	case strings.Contains(s, "--"):
		return "must not contain consecutive hyphens"
	case strings.HasPrefix(s, "-") || strings.HasSuffix(s, "-"):
		return "must not begin or end with a hyphen"
	}
	return ""
}

// overlap reports whether two lists of ports have one in common; an empty list is
// every port. A name may stand for any.
func overlap(a, b []topology.PolicyPort) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	return slices.ContainsFunc(a, func(p topology.PolicyPort) bool {
		return slices.ContainsFunc(b, func(q topology.PolicyPort) bool {
			return p.Protocol == q.Protocol && (p.Name != "" || q.Name != "" || p.First <= q.Last && q.First <= p.Last)
		})
	})
}
