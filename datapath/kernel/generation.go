//go:build linux

package kernel

import (
	"encoding/binary"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// generation is the number of the ruleset of the calling thread's namespace: it
// changes with every change of any nf_tables rule in it (NFT_MSG_GETGEN). It is 0
// where there is no nf_tables.
func generation() uint32 {
	g, _ := askGeneration()
	return g
}

// askGeneration is generation with the reason why there is none.
func askGeneration() (uint32, error) {
	const subsystem = unix.NFNL_SUBSYS_NFTABLES << 8
	req := nl.NewNetlinkRequest(subsystem|unix.NFT_MSG_GETGEN, 0)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: nl.NFNETLINK_V0})
	msgs, err := req.Execute(unix.NETLINK_NETFILTER, subsystem|unix.NFT_MSG_NEWGEN)
	if err != nil || len(msgs) == 0 || len(msgs[0]) < nl.SizeofNfgenmsg {
		return 0, err
	}
	attrs, err := nl.ParseRouteAttr(msgs[0][nl.SizeofNfgenmsg:])
	if err != nil {
		return 0, err
	}
	for _, a := range attrs {
		if a.Attr.Type == unix.NFTA_GEN_ID && len(a.Value) >= 4 {
			return binary.BigEndian.Uint32(a.Value), nil
		}
	}
	return 0, nil
}

// ruleset is what is known about the rules of a namespace without listing them,
// which takes longer the more there are.
type ruleset struct {
	bare    uint32 // generation of the namespace when it was made
	planned uint32 // generation at which the rules were those of the applied plan; 0: not known
}

// note remembers that the rules are those of the applied plan now. iptables-legacy
// leaves no trace in the generation, so nothing is known then.
func (r *ruleset) note() {
	r.planned = 0
	if g := generation(); g != r.bare {
		r.planned = g
	}
}

// asPlanned reports whether the rules are still those of the applied plan.
func (r *ruleset) asPlanned() bool { return r.planned != 0 && generation() == r.planned }

// noteRules remembers of the nodes among the given namespaces, of all with nil, that
// their rules are as planned. Of those that were not looked at nothing new is known.
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
