//go:build linux

package engine

import (
	"cmp"
	"context"
	"slices"
)

// Output is a part of what a program wrote.
type Output struct {
	Program
	First int64 // how much it wrote before
	Text  []byte
}

// End is the position after it.
func (o Output) End() int64 { return o.First + int64(len(o.Text)) }

// Logs returns what programs wrote, by their names; of those in after, what they wrote after
// that position. With wait, it returns once there is anything.
func (c *Client) Logs(ctx context.Context, after map[string]int64, wait bool) ([]Output, error) {
	r, err := c.call(ctx, request{Verb: verbLogs, After: after, Wait: wait})
	return r.Outputs, err
}

// logs answers without a lock on the lab: what a program writes before it is ready matters
// most.
func (e *engine) logs(ctx context.Context, req request) (reply, error) {
	for {
		changed := e.inside.news.wait()
		var all []Output
		some := false
		for _, p := range e.inside.programs() {
			text, first := p.output.since(req.After[p.Name])
			some = some || len(text) > 0
			all = append(all, Output{p.status(), first, text})
		}
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

// programs are all programs of the scenario, by name.
func (in *inside) programs() []*program {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []*program
	for _, o := range in.spaces {
		for _, p := range o.programs {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *program) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
