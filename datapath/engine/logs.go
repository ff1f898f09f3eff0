//go:build linux

package engine

import (
	"context"

	"github.com/netlab/netlab/datapath/engine/inside"
)

// Logs returns what programs wrote, by their names; of those in after, what they wrote after
// that position. With wait, it returns once there is anything.
func (c *Client) Logs(ctx context.Context, after map[string]int64, wait bool) ([]inside.Output, error) {
	r, err := c.call(ctx, request{Verb: verbLogs, After: after, Wait: wait})
	return r.Outputs, err
}

// logs answers without a lock on the lab: what a program writes before it is ready matters
// most.
func (e *engine) logs(ctx context.Context, req request) (reply, error) {
	for {
		changed := e.inside.News()
		all, some := e.inside.Outputs(req.After)
		if some || !req.Wait {
			return reply{Outputs: all}, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return reply{}, ctx.Err()
		}
	}
}
