package servicetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

// Difference is a question that proxy modes answer differently by design.
type Difference struct {
	What     string // the question
	IPTables string // the result
	IPVS     string
	Why      string
	applies  func(r *testLab, c *Case) bool
}

// Differences are all known differences between iptables and ipvs: answers differ where a row
// says so, and nowhere else. ARCHITECTURE.md prints them.
func Differences() []Difference {
	none := func(r *testLab, c *Case) bool { // usable endpoints, but not on the node that translates
		return len(serving(c.q.state.endpoints, 0)) > 0 && len(serving(c.q.state.endpoints, c.q.translator())) == 0
	}
	local := func(q question) bool {
		if q.to.name == clusterIP {
			return q.sort.itp == topology.PolicyLocal
		}
		return q.sort.etp == topology.PolicyLocal
	}
	outer := func(q question) bool { return q.to.name == loadBalancer || q.to.name == externalIP }
	return []Difference{{
		What:     "policy Local, endpoints on other nodes only, the service has external addresses",
		IPTables: "timeout", IPVS: "as under policy Cluster, without masquerade by the service",
		Why:     "the virtual server falls back to all endpoints (pull request 97081)",
		applies: func(r *testLab, c *Case) bool { return c.q.sort.external && local(c.q) && none(r, c) },
	}, {
		What:     "policy Local, endpoints on other nodes only, the service is internal",
		IPTables: "timeout", IPVS: "refused",
		Why:     "a virtual server without real servers",
		applies: func(r *testLab, c *Case) bool { return !c.q.sort.external && local(c.q) && none(r, c) },
	}, {
		What:     "external policy Local, from a pod or process of the node, or a pod that keeps its address",
		IPTables: "every endpoint answers", IPVS: "only those of the node answer",
		Why: "a virtual server does not look at the client's origin (issue 93456)",
		applies: func(r *testLab, c *Case) bool {
			who := r.client(c.q)
			return c.q.to.name != clusterIP && local(c.q) && (who.self || who.pod && !r.NoDetector)
		},
	}, {
		What:     "external policy Local, from a process of the node",
		IPTables: "sees the node's address towards the endpoint", IPVS: "an endpoint of the node sees the service's address",
		Why:     "the service's address is local, so processes use it as their source",
		applies: func(r *testLab, c *Case) bool { return c.q.to.name != clusterIP && local(c.q) && r.client(c.q).self },
	}, {
		What:     "no endpoint anywhere, from a process of the node to a load balancer or external IP",
		IPTables: "timeout", IPVS: "refused",
		Why: "KUBE-EXTERNAL-SERVICES is not hooked into OUTPUT; IPVS is",
		applies: func(r *testLab, c *Case) bool {
			return outer(c.q) && r.client(c.q).self && len(serving(c.q.state.endpoints, 0)) == 0
		},
	}, {
		What:     "no local detector: from a process of the node to a cluster IP",
		IPTables: "sees the node's address on the underlay", IPVS: "sees the node's address towards the endpoint",
		Why: "the source is the cluster IP, which is masqueraded",
		applies: func(r *testLab, c *Case) bool {
			return c.q.to.name == clusterIP && r.NoDetector && !r.MasqueradeAll && r.client(c.q).self
		},
	}, {
		What:     "a service's address, but none of its ports",
		IPTables: "timeout", IPVS: "refused",
		Why:     "the address is the node's own; KUBE-IPVS-FILTER (issue 72236)",
		applies: func(_ *testLab, c *Case) bool { return c.Flow.To.Port() == unservedPort },
	}, {
		What:     "a node port of 127.0.0.1",
		IPTables: "answers", IPVS: "refused",
		Why:     "loopback addresses have no virtual server",
		applies: func(_ *testLab, c *Case) bool { return c.Flow.To.Addr().IsLoopback() },
	}}
}

// DifferencesTable is the differences as a table in Markdown.
func DifferencesTable() string {
	var b strings.Builder
	b.WriteString("| what | iptables | ipvs | why |\n|---|---|---|---|\n")
	for _, d := range Differences() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.What, d.IPTables, d.IPVS, d.Why)
	}
	return b.String()
}

// differs reports whether a row covers a case.
func (r *testLab) differs(c *Case) bool {
	return slices.ContainsFunc(Differences(), func(d Difference) bool { return d.applies(r, c) })
}
