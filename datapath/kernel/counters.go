//go:build linux

package kernel

import (
	"context"
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/kernel/virtual"
	"github.com/netlab/netlab/datapath/kernel/xtables"
	"github.com/netlab/netlab/datapath/plan"
)

// Counters returns what the rules and virtual servers of nodes and routers have counted: all of
// iptables, those of nf_tables that have a counter. With names, only those of these namespaces.
func (k *Kernel) Counters(ctx context.Context, only ...string) ([]plan.Counted, error) {
	var list []plan.Counted
	applied := k.Applied()
	for i := range applied.Netns {
		n := &applied.Netns[i]
		if !n.Kind.Filters() || only != nil && !slices.Contains(only, n.Name) {
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
		ofFamily, err := xtables.Counters(ctx, s.ns, ipv6)
		if err != nil {
			return nil, err
		}
		list = append(list, ofFamily...)
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
