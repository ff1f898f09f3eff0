package labs

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine/inside"
)

// inspectSessions lists the BGP sessions of a lab.
func (u ui) inspectSessions(list []inside.Session) {
	if len(list) == 0 {
		return
	}
	u.Print("\nBGP sessions\n")
	w := tabwriter.NewWriter(u.Text(), 0, 0, 2, ' ', 0)
	for _, s := range list {
		state := "established, " + command.Plural(s.Received, "route") + " received"
		if !s.Established {
			state = "not established: " + s.Why
		}
		if s.Client {
			state += ", route reflector client"
		}
		fmt.Fprintf(w, "  %s\tAS %d\t%s\t%s\tAS %d\t%s\n", host(s.Netns), s.AS, s.Peer, s.Address, s.PeerAS, state)
	}
	_ = w.Flush()
}

// printLost lists the BGP sessions that are not established, and why.
func (u ui) printLost(list []inside.Session) {
	for _, s := range list {
		if !s.Established {
			u.Print("BGP session of %s with %s (%s) is not established: %s\n", host(s.Netns), s.Peer, s.Address, s.Why)
		}
	}
}

// host is the name of the node or router of a network namespace.
func host(netns string) string {
	_, name, _ := strings.Cut(netns, ".")
	return name
}

// printChecks lists what load balancers have found out about nodes.
func (u ui) printChecks(list []inside.Checked) {
	for _, c := range list {
		verdict := "healthy"
		if !c.Healthy {
			verdict = "out, gets no connections"
		}
		if c.Why != "" {
			verdict += "; last check: " + c.Why
		}
		u.Print("load balancer %s of %s: %s %s\n", host(c.Netns), c.Service, c.Endpoint, verdict)
	}
}
