package policytest

import (
	"fmt"

	"github.com/netlab/netlab/datapath/flow"
)

// fault is the reason why style legacy fails a case.
type fault string

const (
	noTiers fault = "it cannot express cluster policies"
	// An accepting rule is final, so the policies of the other end on the same node are
	// not evaluated; and the rules of both directions are in one chain.
	terminalAccept fault = "what one end on a node allows, the other cannot deny"
	noHostEgress   fault = "it does not filter traffic to the node itself"
)

// legacyFaults are the cases that style legacy gets wrong, apart from those with
// cluster policies.
func legacyFaults() map[string]fault {
	return map[string]fault{
		"both sides must allow":                         terminalAccept,
		"different ports on both sides":                 terminalAccept,
		"egress to the own namespace, no ingress":       terminalAccept,
		"egress type with an empty ingress rule":        terminalAccept,
		"ingress from the own namespace, no egress":     terminalAccept,
		"many policies for one pod":                     terminalAccept,
		"one policy denies, the other allows a port":    terminalAccept,
		"the destination allows what the source denies": terminalAccept,
		"the source allows what the destination denies": terminalAccept,
		"no types, with ingress and egress rules":       terminalAccept,
		"to the own node, enforced":                     noHostEgress,
		"to the own node, enforced and allowed":         noHostEgress,
		"to the own node, enforced with a union":        noHostEgress,
	}
}

// unlikeLegacy describes what does not fit the known faults: a connection wrongly
// denied, a wrong one between two nodes, or no wrong one at all.
func (r *testLab) unlikeLegacy(j *judged, right, got []flow.Result) []string {
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
	if wrong == 0 && r.Full { // other setups may not test the ports of the fault
		strange = append(strange, "the fault of this style does not show: "+string(j.Legacy))
	}
	return strange
}
