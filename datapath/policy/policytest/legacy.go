package policytest

import (
	"fmt"

	"github.com/netlab/netlab/datapath/flow"
)

// fault is why the style legacy does not pass a case.
type fault string

const (
	noTiers fault = "it has no place for cluster policies"
	// A rule that accepts ends the way of a packet, whose other end on the same node is
	// not asked any more; and the rules of both directions are in one chain.
	terminalAccept fault = "what one end of a node allows, the other cannot deny"
	noHostEgress   fault = "it does not look at what is for the node itself"
)

// legacyFaults are the cases that the style legacy gets wrong, beside those with
// cluster policies.
func legacyFaults() map[string]fault {
	return map[string]fault{
		"both sides have to allow":                                terminalAccept,
		"different ports on both sides":                           terminalAccept,
		"egress to the own namespace, ingress from nobody":        terminalAccept,
		"egress type with an empty ingress rule":                  terminalAccept,
		"ingress from the own namespace, egress to nobody":        terminalAccept,
		"many policies about one pod":                             terminalAccept,
		"one policy denies, the other allows a port":              terminalAccept,
		"the destination lets in whom the source does not let go": terminalAccept,
		"the source may, the destination does not let it in":      terminalAccept,
		"types left out, with ingress and egress rules":           terminalAccept,
		"to the own node, enforced":                               noHostEgress,
		"to the own node, enforced and allowed":                   noHostEgress,
		"to the own node, enforced with a union":                  noHostEgress,
	}
}

// unlikeLegacy is what does not fit the known faults: a connection that is denied
// wrongly, one that is wrong between two nodes, or none that is wrong.
func (r *room) unlikeLegacy(j *judged, right, got []flow.End) []string {
	var strange []string
	wrong := 0
	for i := range right {
		if got[i].Outcome == right[i].Outcome && got[i].Answer == right[i].Answer {
			continue
		}
		q := &j.questions[i]
		if wrong++; got[i].Outcome == flow.Connected && q.from.node == q.to.node && q.from.node != 0 {
			continue
		}
		strange = append(strange, fmt.Sprintf("%s, %s %s: want %s, got %s", q.name, q.flow.Protocol, q.flow.To, right[i], got[i]))
	}
	if wrong == 0 && r.Full { // the ports that were asked may not be those of the fault
		strange = append(strange, "the fault of this style does not show: "+string(j.Legacy))
	}
	return strange
}
