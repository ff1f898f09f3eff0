package expect

import (
	"fmt"

	"github.com/netlab/netlab/datapath/flow"
)

// The TTL, or hop limit, that packets arrive with: 64 less one for each router on the
// path.
var ttlCheck = check{
	name:       "ttl",
	attributes: []string{"ttl"},
	wanted: func(r *Reach, _ int) []string {
		if r.TTL == 0 {
			return nil
		}
		return []string{fmt.Sprintf("arriving with TTL %d", r.TTL)}
	},
	part: func(r flow.Result) any { return r.TTL },
	each: func(p *Pair, r flow.Result) (string, bool) {
		switch {
		case p.TTL == 0 || r.TTL == p.TTL:
			return "", true
		case r.TTL == 0:
			return "the server does not report the TTL of packets", false
		}
		return fmt.Sprintf("packets arrive with TTL %d, not %d", r.TTL, p.TTL), false
	},
}
