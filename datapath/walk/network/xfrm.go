package network

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
)

// XfrmPolicy returns the IPsec policy of a direction for packets between two addresses, or nil.
func (h *Host) XfrmPolicy(dir plan.XfrmDir, src, dst netip.Addr) *plan.XfrmPolicy {
	for i := range h.XfrmPolicies {
		if p := &h.XfrmPolicies[i]; p.Dir == dir && p.Covers(src, dst) {
			return p
		}
	}
	return nil
}

// XfrmState returns an IPsec state, or nil.
func (h *Host) XfrmState(is func(*plan.XfrmState) bool) *plan.XfrmState {
	for i := range h.XfrmStates {
		if s := &h.XfrmStates[i]; is(s) {
			return s
		}
	}
	return nil
}
