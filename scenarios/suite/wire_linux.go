package suite

import (
	"context"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/reports"
)

// measureWire dials the connection by which variations are compared. What cannot be measured
// stays unknown: it is no claim.
func (x *run) measureWire(ctx context.Context, lab *engine.Client) {
	w := wireOf(x.lab)
	if w == nil || ctx.Err() != nil {
		return
	}
	o, sent, err := lab.OnWire(ctx, engine.Wire{
		Flow:   w.flow(),
		Own:    plan.Peer{Netns: w.from.Netns(), Link: podnet.Uplink},
		Uplink: plan.Peer{Netns: w.from.Node.Netns(), Link: podnet.Uplink},
	})
	if err != nil {
		x.wire = wireOnPaper(x.lab, x.paper[nil].World)
		return
	}
	x.wire = []reports.Wire{w.facts(x.paper[nil].World, &o, sent)}
}
