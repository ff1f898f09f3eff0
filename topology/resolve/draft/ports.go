package draft

import (
	"fmt"
	"strings"

	"github.com/netlab/netlab/topology"
)

// Port checks a port number; 0 means that there is none to use.
func (d *Draft) Port(o topology.Opt[int], what string, block []topology.Origin) uint16 {
	switch {
	case !o.Set && o.Origin != (topology.Origin{}): // reported by the reader
	case !o.Set:
		d.Errorf(block, "Missing port number", "The %s has no number. Add port = 8080.", what)
	case o.Value < 1 || o.Value > 65535:
		d.Errorf(append(At(o.Origin), block...), "Port out of range", "The %s is %d. Use a number from 1 to 65535.", what, o.Value)
	default:
		return uint16(o.Value)
	}
	return 0
}

// HintPorts suggests the nearest of the names that ports have, or lists them.
func HintPorts(name string, known []string) string {
	if hint := topology.DidYouMean(name, known); hint != "" || len(known) == 0 {
		return hint
	}
	return fmt.Sprintf(" They have %s.", strings.Join(known, ", "))
}

// HostPortOrigin is where a host port is written.
func (d *Draft) HostPortOrigin(pod *topology.Pod, p *topology.Port) topology.Origin {
	for _, s := range d.Spec.Pods {
		if s.Block == pod.Block && s.Key == pod.Key {
			return topology.First(s.Ports, func(s topology.PortSpec) bool { return s.Origin == p.Origin }).HostPort.Origin
		}
	}
	return topology.Origin{}
}
