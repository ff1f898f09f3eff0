//go:build linux

package xtables

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"strings"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// Read returns the tables of a namespace, and the names of those with something that iptables
// does not have.
func Read(ctx context.Context, ns *netns.NS, ipv6 bool) (tables []iptables.Table, incompatible []string, err error) {
	text, err := Run(ns, exec.CommandContext(ctx, program(ipv6, "save")))
	if err != nil {
		return nil, nil, err
	}
	return parseSave(text, ipv6), incompatibleIn(text), nil
}

// incompatibleIn are the tables with something that iptables does not have, as iptables-save
// says: # Table `filter' contains incompatible base-chains, use 'nft' tool to list them.
func incompatibleIn(saved []byte) (names []string) {
	for line := range strings.Lines(string(saved)) {
		if rest, ok := strings.CutPrefix(line, "# Table `"); ok && strings.Contains(line, "incompatible") {
			name, _, _ := strings.Cut(rest, "'")
			names = append(names, name)
		}
	}
	return names
}

// parseSave parses the output of iptables-save. Rules stay text: they are compared with
// the saved form of the plan's rules.
func parseSave(text []byte, ipv6 bool) []iptables.Table {
	var tables []iptables.Table
	var t *iptables.Table
	var chains map[string]int
	scan := bufio.NewScanner(bytes.NewReader(text))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := scan.Text()
		switch {
		case strings.HasPrefix(line, "*"):
			tables = append(tables, iptables.Table{IPv6: ipv6, Name: line[1:]})
			t, chains = &tables[len(tables)-1], map[string]int{}
		case strings.HasPrefix(line, ":"):
			name, rest, _ := strings.Cut(line[1:], " ")
			policy, _, _ := strings.Cut(rest, " ")
			if policy == "-" {
				policy = ""
			}
			chains[name] = len(t.Chains)
			t.Chains = append(t.Chains, iptables.Chain{Name: name, Policy: policy})
		case strings.HasPrefix(line, "-A "):
			name, rule, _ := strings.Cut(line[3:], " ")
			if i, ok := chains[name]; ok {
				t.Chains[i].Rules = append(t.Chains[i].Rules, iptables.Rule{Raw: named(rule)})
			}
		}
	}
	return tables
}

// named gives a rule the name of the protocol IPIP, where /etc/protocols has another for it, or is
// missing.
func named(rule string) string {
	header, rest, matches := strings.Cut(" "+rule+" ", " -m ") // no comment is before that
	for _, other := range []string{"4", "ipv4", "IP-ENCAP"} {
		header = strings.Replace(header+" ", " -p "+other+" ", " -p "+iptables.IPIP+" ", 1)
		header = strings.TrimSuffix(header, " ")
	}
	if matches {
		header += " -m " + rest
	}
	return strings.TrimSpace(header)
}
