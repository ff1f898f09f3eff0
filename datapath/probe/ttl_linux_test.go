package probe_test

import (
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/probe"
)

// With a router between client and server, packets arrive with a TTL one lower.
func TestServersReportTheTTL(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		l := pair(t)
		l.waitIPv6()
		l.listen("server", probe.Agent{Name: "web", IPv6: ipv6, Listen: []probe.Socket{{flow.TCP, 80}, {flow.UDP, 80}}})
		targets := []string{"10.0.2.2:80"}
		if ipv6 {
			targets = append(targets, "[fd02::2]:80")
		}
		for _, target := range targets {
			for _, row := range []struct {
				from string
				ttl  int
			}{{"client", 63}, {"server", 64}} {
				f := flow.Flow{From: row.from, To: to(target)}
				tcp, udp, http := f, f, f
				tcp.Protocol, udp.Protocol, http.Path = flow.TCP, flow.UDP, "/"
				for _, o := range l.dial(tcp, udp, http) {
					if o.Outcome != flow.Connected || o.TTL != row.ttl {
						t.Errorf("socket of both families: %v: %s from %s: %s %s, TTL %d, want %d", ipv6, target, row.from, o.Outcome, o.Err, o.TTL, row.ttl)
					}
				}
			}
		}
	}
}
