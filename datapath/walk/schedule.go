package walk

import (
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/walk/memory"
)

// manner is how an IPVS scheduler chooses among real servers.
type manner struct {
	share func(weight int) int // of the connections; 0: it is never chosen
	// sticks says which connections all go to one server, as long as servers and
	// weights stay the same.
	sticks stickiness
}

type stickiness uint8

const (
	perConnection stickiness = iota
	perClient                // by the source address
	perServer                // by the destination, which is the virtual server's own address
)

// mannerOf returns a scheduler's manner. Which server is next depends on all earlier
// connections, which a walk does not know: with schedulers that take turns or consider
// load, each server may be next, in proportion to its share.
//
// sh and dh fill a table with all servers and refuse clients mapped to one of weight 0
// (ip_vs_sh.c and ip_vs_dh.c in net/netfilter/ipvs); others skip it.
func mannerOf(server *ipvs.Server) manner {
	equal := func(w int) int { return min(w, 1) }
	weight := func(w int) int { return w }
	switch server.Scheduler {
	case "wrr", "wlc", "sed", "twos":
		return manner{weight, perConnection}
	case "sh":
		return manner{func(w int) int { return max(w, 1) }, perClient}
	case "dh":
		return manner{func(int) int { return 1 }, perServer}
	case "lblc", "lblcr":
		return manner{weight, perServer}
	case "mh":
		if slices.Contains(server.Flags, "mh-port") {
			return manner{weight, perConnection}
		}
		return manner{weight, perClient}
	case "fo":
		highest := 0
		for _, s := range server.Real {
			highest = max(highest, s.Weight)
		}
		return manner{func(w int) int {
			if w < highest {
				return 0
			}
			return min(w, 1)
		}, perServer}
	}
	return manner{equal, perConnection} // rr, lc, nq, ovf
}

// schedule chooses a real server for a new connection; nil: there is none for it.
func (r *run) schedule(v *visit, server *ipvs.Server) *ipvs.Real {
	m := mannerOf(server)
	key := memory.Affinity{Netns: v.h.Name, Proto: server.Proto, Server: server.Addr}
	lasts := time.Duration(server.Persistent) * time.Second
	switch {
	case lasts > 0 || m.sticks == perClient:
		key.Client = v.p.src.Addr()
	case m.sticks == perConnection:
		return usable(r.spin(server, m))
	}
	if to, ok := r.state.Bound(key, lasts); ok {
		for i := range server.Real {
			// A client does not stay with a server that gets no new connections
			// (expire_quiescent_template).
			if s := &server.Real[i]; s.Addr == to && (s.Weight > 0 || lasts == 0) {
				r.state.Bind(key, to)
				return usable(s)
			}
		}
	}
	s := r.spin(server, m)
	if s != nil {
		r.state.Bind(key, s.Addr)
	}
	return usable(s)
}

func usable(s *ipvs.Real) *ipvs.Real {
	if s == nil || s.Weight <= 0 {
		return nil
	}
	return s
}

func (r *run) spin(server *ipvs.Server, m manner) *ipvs.Real {
	left := 0
	for _, s := range server.Real {
		left += m.share(s.Weight)
	}
	for i := range server.Real {
		s := &server.Real[i]
		share := m.share(s.Weight)
		if share > 0 && r.decide(float64(share)/float64(left)) {
			return s
		}
		left -= share
	}
	return nil
}
