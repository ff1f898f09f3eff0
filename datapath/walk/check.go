package walk

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// A load balancer connects to the node port of every node to find those that get connections. On
// paper a check is a walk of its own, from the balancer to the node port, which ends where the
// connection is accepted. It starts without what rules remember.

// checks are those that were walked: they are the same for every connection.
type checks struct{ found sync.Map }

type checkKey struct {
	netns    string
	endpoint netip.AddrPort
	check    occupant.Check
}

// checked is how likely a check succeeds, and why it may not.
type checked struct {
	succeeds float64
	why      string
}

// checked returns what the check of an endpoint finds.
func (w *World) checked(k checkKey) checked {
	if c, ok := w.checks.found.Load(k); ok {
		return c.(checked)
	}
	p := w.walk(nil, flow.Flow{From: k.netns, To: k.endpoint, Protocol: flow.TCP, Within: k.check.Timeout}, true)
	var c checked
	for _, b := range p.Branches {
		if b.Outcome == flow.Connected {
			c.succeeds += b.Probability
		} else if c.why == "" {
			c.why = because(b)
		}
	}
	w.checks.found.Store(k, c)
	return c
}

func because(b trace.Branch) string {
	if b.Why == "" {
		return string(b.Outcome)
	}
	return fmt.Sprintf("%s, %s", b.Outcome, b.Why)
}

// healthy are the endpoints that get connections, and what the checks of the others found. Where a
// check succeeds only sometimes, an endpoint is in or out.
func (r *run) healthy(netns string, x *occupant.ProxyPort) (list []netip.AddrPort, found string) {
	if x.Check == (occupant.Check{}) {
		return x.Endpoints, ""
	}
	var out []string
	for _, e := range x.Endpoints {
		c := r.world.checked(checkKey{netns, e, x.Check})
		if r.decide(c.succeeds) {
			list = append(list, e)
			continue
		}
		out = append(out, fmt.Sprintf("the check of %s fails: %s", e, c.why))
	}
	if len(out) > 0 {
		found = "; " + strings.Join(out, "; ")
	}
	return list, found
}
