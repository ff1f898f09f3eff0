package labs

import "github.com/netlab/netlab/datapath/engine/inside"

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
