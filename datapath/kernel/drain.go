//go:build linux

package kernel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/kernel/virtual"
	"github.com/netlab/netlab/datapath/netns"
)

// Draining is a draining real server of a namespace.
type Draining struct {
	Netns string
	virtual.Draining
}

// Draining lists the real servers that are draining, sorted.
func (k *Kernel) Draining() []Draining {
	var list []Draining
	for name, s := range k.spaces {
		for _, d := range s.drains.All() {
			list = append(list, Draining{name, d})
		}
	}
	slices.SortFunc(list, func(a, b Draining) int {
		return cmp.Or(cmp.Compare(a.Netns, b.Netns), a.Virtual.Compare(b.Virtual), a.Real.Compare(b.Real))
	})
	return list
}

// Reap deletes the draining real servers whose last connection has ended, and returns
// their number. kube-proxy does this every minute.
func (k *Kernel) Reap(ctx context.Context) (deleted int, err error) {
	err = k.thread.Run(func(h netns.Here) error {
		for _, name := range k.Names() {
			s := k.spaces[name]
			if !s.drains.Any() {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := h.Enter(s.ns); err != nil {
				return err
			}
			n, err := s.drains.Reap()
			deleted += n
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	return deleted, err
}
