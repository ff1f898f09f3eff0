//go:build linux

package kernel

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// readRules fills in the tables of the nodes, except known ones. Only nodes can have
// rules: the plan has none elsewhere, and a process per pod would be too expensive.
func (k *Kernel) readRules(ctx context.Context, have *plan.Plan, known map[string]bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range have.Netns {
		n := &have.Netns[i]
		if n.Kind != plan.Node || known[n.Name] {
			continue
		}
		group.Go(func() error {
			families := []bool{false}
			if n.IPv6 {
				families = append(families, true)
			}
			for _, ipv6 := range families {
				text, err := save(ctx, k.spaces[n.Name].ns, ipv6)
				if err != nil {
					return fmt.Errorf("%s: %w", n.Name, err)
				}
				n.Tables = append(n.Tables, parseSave(text, ipv6)...)
			}
			return nil
		})
	}
	return group.Wait()
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
				t.Chains[i].Rules = append(t.Chains[i].Rules, iptables.Rule{Raw: rule})
			}
		}
	}
	return tables
}
