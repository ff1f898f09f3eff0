//go:build linux

package kernel

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/kernel/virtual"
	"github.com/netlab/netlab/datapath/plan"
)

// Counters returns what the rules and virtual servers of nodes and routers have counted: all of
// iptables, those of nf_tables that have a counter.
func (k *Kernel) Counters(ctx context.Context) ([]plan.Counted, error) {
	var list []plan.Counted
	applied := k.Applied()
	for i := range applied.Netns {
		n := &applied.Netns[i]
		if !n.Kind.Filters() {
			continue
		}
		more, err := k.counted(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
		for _, c := range more {
			c.Netns = n.Name
			list = append(list, c)
		}
	}
	return list, nil
}

func (k *Kernel) counted(ctx context.Context, n *plan.Netns) (list []plan.Counted, err error) {
	s := k.spaces[n.Name]
	for _, ipv6 := range []bool{false, true} {
		if ipv6 && !n.IPv6 {
			continue
		}
		text, err := run(s.ns, exec.CommandContext(ctx, program(ipv6, "save"), "--counters"))
		if err != nil {
			return nil, err
		}
		list = append(list, parseCounters(text, ipv6)...)
	}
	err = s.ns.Do(func() error {
		ofNFT, err := nftables.Counters()
		if list = append(list, ofNFT...); err == nil && len(n.Virtual) > 0 {
			var servers []plan.Counted
			servers, err = virtual.Counters()
			list = append(list, servers...)
		}
		return err
	})
	return list, err
}

// parseCounters parses the output of iptables-save --counters: [12:3456] -A CHAIN RULE.
func parseCounters(text []byte, ipv6 bool) (list []plan.Counted) {
	table := ""
	for line := range bytes.Lines(text) {
		line := strings.TrimSuffix(string(line), "\n")
		if name, ok := strings.CutPrefix(line, "*"); ok {
			table = name
		}
		c := plan.Counted{IPv6: ipv6, Table: table}
		counts, rule, ok := strings.Cut(line, "] -A ")
		if !ok {
			continue
		}
		if _, err := fmt.Sscanf(counts, "[%d:%d", &c.Packets, &c.Bytes); err != nil {
			continue
		}
		c.Chain, c.Rule, _ = strings.Cut(rule, " ")
		list = append(list, c)
	}
	return list
}
