package expect

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// The MTU: the longest packets that an upload over TCP sends.
var mtuCheck = check{
	name:       "mtu",
	attributes: []string{"mtu"},
	wanted: func(r *Reach, _ int) []string {
		if r.MTU == 0 {
			return nil
		}
		return []string{fmt.Sprintf("packets of up to %d bytes", r.MTU)}
	},
	measure: func(p *Pair, own, _ []flow.Observation) (measured, wrong []string) {
		if p.MTU == 0 {
			return nil, nil
		}
		for _, o := range own {
			if text := fmt.Sprintf("MTU %d", o.MTU); o.Outcome == flow.Connected && !slices.Contains(measured, text) {
				measured = append(measured, text)
				if o.MTU != p.MTU {
					wrong = append(wrong, fmt.Sprintf("packets of up to %d bytes, not %d", o.MTU, p.MTU))
				}
			}
		}
		return measured, wrong
	},
}
