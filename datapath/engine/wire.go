//go:build linux

package engine

import (
	"context"
	"errors"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
)

// Wire asks what one flow costs on the links that it leaves by.
type Wire struct {
	Flow   flow.Flow
	Own    plan.Peer // the link of the dialer
	Uplink plan.Peer // the link whose bytes are counted
}

// OnWire dials a flow and returns what was observed, and how many bytes the uplink sent
// meanwhile, as they would be on a wire: each TCP segment with headers of its own.
func (c *Client) OnWire(ctx context.Context, w Wire) (flow.Observation, uint64, error) {
	r, err := c.call(ctx, request{Verb: verbWire, Wire: w})
	if err != nil || len(r.Observations) == 0 {
		return flow.Observation{}, 0, err
	}
	return r.Observations[0], r.Sent, nil
}

func (e *engine) wire(ctx context.Context, w Wire) (r reply, err error) {
	e.mu.Lock() // nothing else is dialed meanwhile
	defer e.mu.Unlock()
	for _, link := range []plan.Peer{w.Own, w.Uplink} {
		if err := e.kernel.Bundle(link, false); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, e.kernel.Bundle(link, true)) }()
	}
	before, err := e.kernel.Sent(w.Uplink)
	if err != nil {
		return r, err
	}
	r.Observations = e.inside.Dial(ctx, []flow.Flow{w.Flow}, e.kernel.Namespace)
	after, err := e.kernel.Sent(w.Uplink)
	r.Sent = after - before
	return r, err
}
