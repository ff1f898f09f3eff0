//go:build linux

package kernel

import (
	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/kernel/socket"
)

// netfilter calls do with the socket of the namespace for its rules, which stays open: see
// nftables.Open.
func (s *space) netfilter(do func(*socket.Socket) error) (err error) {
	if s.rules.sock == nil {
		err = s.ns.Do(func() (err error) { s.rules.sock, err = nftables.Open(); return err })
	}
	if err == nil {
		err = do(s.rules.sock)
	}
	if err != nil {
		s.rules.close() // what it still may have to say is about this
	}
	return err
}

func (r *ruleset) close() {
	if r.sock != nil {
		r.sock.Close()
	}
	r.sock = nil
}

// generation is that of the rules; 0 without nf_tables.
func (s *space) generation() (g uint32) {
	if s.netfilter(func(sock *socket.Socket) (err error) { g, err = nftables.Generation(sock); return err }) != nil {
		return 0
	}
	return g
}

// ruleset is what is known about the rules of a namespace without listing them, which
// takes the longer the more there are.
type ruleset struct {
	bare    uint32         // generation of the namespace when it was created
	planned uint32         // generation at which the rules were those of the applied plan; 0: unknown
	sock    *socket.Socket // nil: not open
}

// noteRules records that the rules are now those of the applied plan. iptables-legacy does
// not change the generation, so with it nothing is known.
func (s *space) noteRules() {
	s.rules.planned = 0
	if g := s.generation(); g != s.rules.bare {
		s.rules.planned = g
	}
}

// asPlanned reports whether the rules are still those of the applied plan.
func (s *space) asPlanned() bool { return s.rules.planned != 0 && s.generation() == s.rules.planned }

// noteRules records for the nodes and routers among the given namespaces (nil: all) that their
// rules are as planned. Nothing new is known of those that were not read.
func (k *Kernel) noteRules(only map[string]bool) {
	for name, s := range k.spaces {
		if s.kind.Filters() && (only == nil || only[name]) {
			s.noteRules()
		}
	}
}
