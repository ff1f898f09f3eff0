//go:build linux

package bench

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/engine"
)

// manyNodes measures an up that changes nothing, where every node knows every other: the
// first against the fastest of three more, which have to find that out.
func manyNodes(ctx context.Context, o Options) ([]Row, error) {
	const nodes = 400
	spec := Shape{Nodes: nodes}.Spec()
	spec.Network.NodeCIDRs = set([]netip.Prefix{netip.MustParsePrefix("172.16.0.0/20")})
	spec.Network.PodCIDRs = set([]netip.Prefix{netip.MustParsePrefix("10.128.0.0/9")})
	o.Progress(fmt.Sprintf("%d nodes", nodes))
	_, p, err := compile(spec)
	if err != nil {
		return nil, err
	}
	lab, err := engine.Start(ctx, "")
	if err != nil {
		return nil, err
	}
	defer lab.Abandon()
	var took []time.Duration
	for range 4 {
		started := time.Now()
		if err := apply(ctx, lab, p); err != nil {
			return nil, err
		}
		took = append(took, time.Since(started))
	}
	first, second := took[0], slices.Min(took[1:])
	return []Row{{What: fmt.Sprintf("up without a change, %d nodes with vxlan (beside the first up)", nodes), Netlab: milliseconds(second),
		Floor: milliseconds(first), Got: fmt.Sprintf("%.2f ×", float64(second)/float64(first)), Goal: "≤ 0.25 ×", OK: second*4 <= first}}, nil
}
