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
	judge: byResults(func(p *pair, e evidence) []string {
		if p.TTL == 0 {
			return nil
		}
		return e.each(p, func(r flow.Result) string {
			switch r.TTL {
			case p.TTL:
				return ""
			case 0:
				return "the server does not report the TTL of packets"
			}
			return fmt.Sprintf("packets arrive with TTL %d, not %d", r.TTL, p.TTL)
		})
	}),
}
