//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/topology"
)

// networkModes measures up of the same lab on every pod network, beside the one that needs
// least: a bridge per node, and a route per other node.
func networkModes(ctx context.Context, o Options) ([]Row, error) {
	const least = "host-gw"
	s := Shape{Nodes: 20, Pods: 1000}
	on := func(mode string) *topology.Spec {
		spec := s.Spec()
		spec.Network.Mode = set(mode)
		return spec
	}
	var rows []Row
	for _, m := range datapath.Catalogue().Networks {
		if !m.Routed || m.Name == least {
			continue
		}
		o.Progress("1,000 pods on " + m.Name)
		var list []round
		for range o.Rounds {
			var r round
			var err error
			if r.floor, err = runNetlab(ctx, on(least)); err != nil {
				return nil, err
			}
			settle()
			r.netlab, err = runNetlab(ctx, on(m.Name))
			if lacks := (*engine.UnsupportedError)(nil); errors.As(err, &lacks) {
				rows = append(rows, Row{What: m.Name, Got: "skipped", Goal: lacks.Error(), OK: true})
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			settle()
			list = append(list, r)
		}
		if len(list) > 0 {
			rows = append(rows, ratioRow("up, 1,000 pods on "+m.Name+" (beside "+least+")", list, up, 1.2))
		}
	}
	return rows, nil
}
