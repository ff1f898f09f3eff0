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
)

// readRules fills in the tables of the nodes, but for those that are known. Only nodes can have rules: the plan
// gives them to nobody else, and a process per pod would be too dear.
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

// parseSave reads the output of iptables-save. Rules stay text: they are compared
// with what the plan's rules look like when saved.
func parseSave(text []byte, ipv6 bool) []plan.Table {
	var tables []plan.Table
	var chains map[string]*plan.Chain
	var order []string
	scan := bufio.NewScanner(bytes.NewReader(text))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := scan.Text()
		switch {
		case strings.HasPrefix(line, "*"):
			tables = append(tables, plan.Table{IPv6: ipv6, Name: line[1:]})
			chains, order = map[string]*plan.Chain{}, nil
		case strings.HasPrefix(line, ":"):
			name, rest, _ := strings.Cut(line[1:], " ")
			policy, _, _ := strings.Cut(rest, " ")
			if policy == "-" {
				policy = ""
			}
			chains[name] = &plan.Chain{Name: name, Policy: policy}
			order = append(order, name)
		case strings.HasPrefix(line, "-A "):
			name, rule, _ := strings.Cut(line[3:], " ")
			if c := chains[name]; c != nil {
				c.Rules = append(c.Rules, plan.Rule{Raw: rule})
			}
		case line == "COMMIT":
			t := &tables[len(tables)-1]
			for _, name := range order {
				t.Chains = append(t.Chains, *chains[name])
			}
		}
	}
	return tables
}
