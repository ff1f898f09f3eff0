//go:build linux

package xtables

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// Counters returns what the rules of a namespace have counted.
func Counters(ctx context.Context, ns *netns.NS, ipv6 bool) ([]plan.Counted, error) {
	text, err := Run(ns, exec.CommandContext(ctx, program(ipv6, "save"), "--counters"))
	if err != nil {
		return nil, err
	}
	return parseCounters(text, ipv6), nil
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
		c.Rule = named(c.Rule)
		list = append(list, c)
	}
	return list
}
