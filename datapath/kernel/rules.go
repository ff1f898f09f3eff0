//go:build linux

package kernel

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/kernel/xtables"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// loader runs iptables-restore in namespaces, in parallel up to the number of cores,
// while its owner continues.
type loader struct {
	ctx   context.Context
	group *errgroup.Group
	slots chan struct{}
	nft   map[*space]chan struct{} // closed when the namespace's tables of nf_tables are there
}

func newLoader(ctx context.Context) *loader {
	group, ctx := errgroup.WithContext(ctx)
	return &loader{ctx: ctx, group: group, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), nft: map[*space]chan struct{}{}}
}

// start does the work of a namespace as soon as there is a slot for it, and other work is done.
func (l *loader) start(name string, after <-chan struct{}, work func() error) {
	l.group.Go(func() error {
		if after != nil {
			select {
			case <-after:
			case <-l.ctx.Done():
				return l.ctx.Err()
			}
		}
		select {
		case l.slots <- struct{}{}:
			defer func() { <-l.slots }()
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
		if err := work(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// load brings the tables of a namespace into that state; wait returns the errors.
func (l *loader) load(name string, s *space, edits []iptables.Edit) {
	ns, fresh := s.ns, s.fresh
	l.start(name, l.nft[s], func() error { return xtables.Apply(l.ctx, ns, fresh, edits) })
}

// nftLoad changes the tables of a namespace, in parallel with other work, but before its iptables:
// of base chains with the same priority, the kernel passes packets first to those created last.
// wait returns the errors. What packets see of the edits of one call is one transaction.
func (l *loader) nftLoad(name string, s *space, edits []nft.Edit) {
	if len(edits) == 0 {
		return
	}
	done := make(chan struct{})
	l.nft[s] = done
	l.start(name, nil, func() error {
		defer close(done)
		return s.netfilter(func(sock *socket.Socket) error { return nftables.Apply(l.ctx, sock, edits) })
	})
}

func (l *loader) wait() error { return l.group.Wait() }

// readRules fills in the tables of nodes and routers, except known ones. Only they can have
// rules: the plan has none elsewhere, and a process per pod would be too expensive.
func (k *Kernel) readRules(ctx context.Context, have *plan.Plan, known map[string]bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range have.Netns {
		n := &have.Netns[i]
		if !n.Kind.Filters() || known[n.Name] {
			continue
		}
		group.Go(func() error {
			families := []bool{false}
			if n.IPv6 {
				families = append(families, true)
			}
			for _, ipv6 := range families {
				tables, incompatible, err := xtables.Read(ctx, k.spaces[n.Name].ns, ipv6)
				if err != nil {
					return fmt.Errorf("%s: %w", n.Name, err)
				}
				for _, name := range incompatible {
					n.NFT = append(n.NFT, nft.Table{Family: familyOf(ipv6), Name: name})
				}
				n.Tables = append(n.Tables, tables...)
			}
			// A table of which iptables knows only a part is made again.
			n.Tables = slices.DeleteFunc(n.Tables, func(t iptables.Table) bool {
				return slices.ContainsFunc(n.NFT, func(x nft.Table) bool { return x.Family == familyOf(t.IPv6) && x.Name == t.Name })
			})
			return nil
		})
	}
	return group.Wait()
}

func familyOf(ipv6 bool) string {
	if ipv6 {
		return "ip6"
	}
	return "ip"
}
