package servicetest

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

func (r *testLab) userSpace() bool { return r.lab.Proxy.Mode.UserSpace }

var reset = []flow.Result{{Outcome: flow.Reset}}

// relayed is the possible results where the node that is addressed accepts a connection and
// makes another to an endpoint, whichever is ready: the server sees that node.
func (r *testLab) relayed(q question) []flow.Result {
	pod := q.from.kind == "pod" && !r.lab.Network.Mode.PodRoutes
	if q.to.name == externalIP && (q.from.kind == "node" || pod) {
		return timeout // the address is left to the host that has it, and none has
	}
	ready := slices.DeleteFunc(slices.Clone(q.state.endpoints), func(e server) bool { return e.unready || e.terminating })
	node := q.translator()
	var ends []flow.Result
	lost := false
	for _, e := range ready {
		if lost = e.node != node && !r.lab.Network.Mode.Routed; !lost {
			ends = append(ends, flow.Result{Outcome: flow.Connected, Answer: e.name(), Node: r.lab.Nodes[e.node-1].Name, Source: r.egress(node, e.node)})
		}
	}
	switch {
	case q.protocol == flow.UDP && (lost || len(ends) == 0):
		return append(ends, timeout...)
	case len(ends) > 0:
		return ends
	case lost:
		return timeout // before the last attempt
	}
	return reset
}

// UserSpaceDifferences are all known differences between iptables and userspace.
func UserSpaceDifferences() []Difference {
	local := func(q question) bool {
		return q.to.name == clusterIP && q.sort.itp == topology.PolicyLocal || q.to.name != clusterIP && q.sort.etp == topology.PolicyLocal
	}
	service := func(names ...string) func(*testLab, *Case) bool {
		return func(r *testLab, c *Case) bool {
			return slices.ContainsFunc(r.lab.Services, func(s *topology.Service) bool {
				return slices.Contains(names, s.Name) && slices.ContainsFunc(slices.Concat(s.ClusterIPs, vips(s)), func(a netip.Addr) bool { return a == c.Flow.To.Addr() })
			})
		}
	}
	connects := func(c *Case) bool {
		return slices.ContainsFunc(c.Ends, func(e flow.Result) bool { return e.Answer != "" })
	}
	return []Difference{{
		What:   "any connection",
		Result: "the endpoint sees the client, unless the service masquerades", Others: map[string]string{"userspace": "the endpoint sees the node that was addressed"},
		Why:     "the proxy makes the connection to the endpoint",
		applies: func(_ *testLab, c *Case) bool { return connects(c) },
	}, {
		What:   "policy Local, internal or external",
		Result: "endpoints of the node only, none: timeout", Others: map[string]string{"userspace": "every endpoint answers"},
		Why:     "it came with rules: the proxy knows no traffic policies",
		applies: func(_ *testLab, c *Case) bool { return local(c.q) },
	}, {
		What:   "no endpoint that is ready",
		Result: "terminating ones answer, none: refused", Others: map[string]string{"userspace": "reset; timeout over UDP"},
		Why: "the proxy accepts a connection before it looks for an endpoint, and knows those of the Endpoints object",
		applies: func(_ *testLab, c *Case) bool {
			return !slices.ContainsFunc(c.q.state.endpoints, func(e server) bool { return !e.unready && !e.terminating })
		},
	}, {
		What:   "an external IP, from a pod behind a bridge or a process of a node",
		Result: "answers", Others: map[string]string{"userspace": "timeout, unless the node has the address"},
		Why:     "it is for what comes from outside (physdev, and addrtype LOCAL in OUTPUT)",
		applies: func(_ *testLab, c *Case) bool { return c.q.to.name == externalIP && c.q.from.kind != "outside" },
	}, {
		What:   "a terminating endpoint beside ready ones on other nodes",
		Result: "answers under policy Local", Others: map[string]string{"userspace": "gets no connections"},
		Why:     "an Endpoints object does not have it",
		applies: func(_ *testLab, c *Case) bool { return c.q.state.name == "fallback" },
	}, {
		What:   "source ranges that do not have the client",
		Result: "timeout", Others: map[string]string{"userspace": "answers"},
		Why:     "the proxy does not know them",
		applies: service("nodes-only", "pods-only", "taken"),
	}, {
		What:   "a load balancer address with ipMode Proxy",
		Result: "as if there were no service", Others: map[string]string{"userspace": "answers"},
		Why:     "the proxy does not know ipMode",
		applies: service("proxy-mode"),
	}, {
		What:   "topology hints",
		Result: "endpoints of the node or the zone", Others: map[string]string{"userspace": "every endpoint answers"},
		Why: "the proxy reads Endpoints, which have none",
		applies: func(r *testLab, c *Case) bool {
			return service("near-node", "near-zone")(r, c) || c.q.from.name == "laptop" && len(c.Ends) == 3
		},
	}, {
		What:   "an endpoint on a node that cannot be reached, among others",
		Result: "timeout for its share of connections", Others: map[string]string{"userspace": "another endpoint answers; over UDP timeout"},
		Why:     "the proxy tries the next one",
		applies: func(r *testLab, _ *Case) bool { return !r.lab.Network.Mode.Routed },
	}, {
		What:   "pods keep their address, and a node port of another node under policy Local",
		Result: "an endpoint elsewhere answers past the node: timeout", Others: map[string]string{"userspace": "answers"},
		Why:     "both connections end at the node",
		applies: func(r *testLab, _ *Case) bool { return r.KeepSource },
	}, {
		What:   "no local detector: from outside to a cluster IP",
		Result: "an endpoint elsewhere may answer past the node: timeout", Others: map[string]string{"userspace": "answers"},
		Why:     "both connections end at the node",
		applies: func(r *testLab, _ *Case) bool { return r.NoDetector },
	}}
}
