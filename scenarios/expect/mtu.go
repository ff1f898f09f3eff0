package expect

import (
	"fmt"

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
	judge: byPackets(func(p *pair, own, _ []flow.Observation) (measured, wrong []string) {
		if p.MTU == 0 {
			return nil, nil
		}
		got, ok := median(own, func(o flow.Observation) float64 { return float64(o.MTU) })
		measured = append(measured, fmt.Sprintf("MTU %.0f", got))
		if ok && int(got) != p.MTU {
			wrong = append(wrong, fmt.Sprintf("packets of up to %.0f bytes, not %d", got, p.MTU))
		}
		return measured, wrong
	}),
}
