//go:build linux

package kernel

import (
	"encoding/binary"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// generation is the number of the ruleset of the calling thread's namespace: it changes
// with every change of any nf_tables rule in it (NFT_MSG_GETGEN). It is 0 without
// nf_tables.
func generation() uint32 {
	const subsystem = unix.NFNL_SUBSYS_NFTABLES << 8
	req := nl.NewNetlinkRequest(subsystem|unix.NFT_MSG_GETGEN, 0)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: nl.NFNETLINK_V0})
	msgs, err := req.Execute(unix.NETLINK_NETFILTER, subsystem|unix.NFT_MSG_NEWGEN)
	if err != nil || len(msgs) == 0 || len(msgs[0]) < nl.SizeofNfgenmsg {
		return 0
	}
	attrs, _ := nl.ParseRouteAttr(msgs[0][nl.SizeofNfgenmsg:])
	for _, a := range attrs {
		if a.Attr.Type == unix.NFTA_GEN_ID && len(a.Value) >= 4 {
			return binary.BigEndian.Uint32(a.Value)
		}
	}
	return 0
}

// ruleset is what is known about the rules of a namespace without listing them, which
// takes the longer the more there are.
type ruleset struct {
	bare    uint32 // generation of the namespace when it was created
	planned uint32 // generation at which the rules were those of the applied plan; 0: unknown
}

// note records that the rules are now those of the applied plan. iptables-legacy does
// not change the generation, so with it nothing is known.
func (r *ruleset) note() {
	r.planned = 0
	if g := generation(); g != r.bare {
		r.planned = g
	}
}

// asPlanned reports whether the rules are still those of the applied plan.
func (r *ruleset) asPlanned() bool { return r.planned != 0 && generation() == r.planned }

// noteRules records for the nodes among the given namespaces (nil: all) that their
// rules are as planned. Nothing new is known of those that were not read.
func (k *Kernel) noteRules(only map[string]bool) {
	_ = k.thread.Run(func(h netns.Here) error {
		for name, s := range k.spaces {
			if s.kind != plan.Node || only != nil && !only[name] {
				continue
			}
			if h.Enter(s.ns) != nil {
				s.rules.planned = 0
				continue
			}
			s.rules.note()
		}
		return nil
	})
}
