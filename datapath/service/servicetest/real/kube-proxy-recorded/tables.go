package main

import (
	"regexp"

	v1 "k8s.io/api/core/v1"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"
)

// tables are the kernel's, but for the match ipvs, which a kernel without IPVS has not: in its place
// stands a comment, ipvs/ADDRESS/PROTOCOL/PORT.
type tables struct{ utiliptables.Interface }

var ofVirtualServers = regexp.MustCompile(`-m ipvs --vaddr (\S+) --vproto (\S+) --vport (\d+)`)

func (t tables) RestoreAll(data []byte, flush utiliptables.FlushFlag, counters utiliptables.RestoreCountersFlag) error {
	return t.Interface.RestoreAll(ofVirtualServers.ReplaceAll(data, []byte("-m comment --comment ipvs/$1/$2/$3")), flush, counters)
}

func newTables() map[v1.IPFamily]utiliptables.Interface {
	of := utiliptables.NewBestEffort()
	for family := range of {
		of[family] = tables{of[family]}
	}
	return of
}
