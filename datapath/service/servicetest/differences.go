package servicetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/topology"
)

// Difference is a question that proxy modes answer differently by design.
type Difference struct {
	What    string            // the question
	Result  string            // with the first mode of the catalogue
	Others  map[string]string // with others; those that are not here have the same
	Why     string
	applies func(r *testLab, c *Case) bool
}

// Differences are all known differences between proxy modes: answers differ where a row
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
		What:   "policy Local, endpoints on other nodes only, the service has external addresses",
		Result: "timeout", Others: map[string]string{"ipvs": "as under policy Cluster, without masquerade by the service"},
		Why:     "the virtual server falls back to all endpoints (pull request 97081)",
		applies: func(r *testLab, c *Case) bool { return c.q.sort.external && local(c.q) && none(r, c) },
	}, {
		What:   "policy Local, endpoints on other nodes only, the service is internal",
		Result: "timeout", Others: map[string]string{"ipvs": "refused"},
		Why:     "a virtual server without real servers",
		applies: func(r *testLab, c *Case) bool { return !c.q.sort.external && local(c.q) && none(r, c) },
	}, {
		What:   "external policy Local, from a pod or process of the node, or a pod that keeps its address",
		Result: "every endpoint answers", Others: map[string]string{"ipvs": "only those of the node answer"},
		Why: "a virtual server does not look at the client's origin (issue 93456)",
		applies: func(r *testLab, c *Case) bool {
			who := r.client(c.q)
			return c.q.to.name != clusterIP && local(c.q) && (who.self || who.pod && !r.NoDetector)
		},
	}, {
		What:   "external policy Local, from a process of the node",
		Result: "sees the node's address towards the endpoint", Others: map[string]string{"ipvs": "an endpoint of the node sees the service's address"},
		Why:     "the service's address is local, so processes use it as their source",
		applies: func(r *testLab, c *Case) bool { return c.q.to.name != clusterIP && local(c.q) && r.client(c.q).self },
	}, {
		What:   "no endpoint anywhere, from a process of the node to a load balancer or external IP",
		Result: "timeout", Others: map[string]string{"ipvs": "refused", "nftables": "refused"},
		Why: "KUBE-EXTERNAL-SERVICES is not hooked into OUTPUT; IPVS and service-endpoints-check are",
		applies: func(r *testLab, c *Case) bool {
			return outer(c.q) && r.client(c.q).self && len(serving(c.q.state.endpoints, 0)) == 0
		},
	}, {
		What:   "no local detector: from a process of the node to a cluster IP",
		Result: "sees the node's address on the underlay", Others: map[string]string{"ipvs": "sees the node's address towards the endpoint"},
		Why: "the source is the cluster IP, which is masqueraded",
		applies: func(r *testLab, c *Case) bool {
			return c.q.to.name == clusterIP && r.NoDetector && !r.MasqueradeAll && r.client(c.q).self
		},
	}, {
		What:   "a service's address, but none of its ports",
		Result: "timeout", Others: map[string]string{"ipvs": "refused", "nftables": "refused"},
		Why:     "the address is the node's own: KUBE-IPVS-FILTER (issue 72236); the set cluster-ips",
		applies: func(_ *testLab, c *Case) bool { return c.Flow.To.Port() == unservedPort },
	}, {
		What:   "a node port of 127.0.0.1",
		Result: "answers", Others: map[string]string{"ipvs": "refused", "nftables": "refused"},
		Why:     "loopback addresses have no virtual server, and are not among those that serve node ports",
		applies: func(_ *testLab, c *Case) bool { return c.Flow.To.Addr().IsLoopback() },
	}, {
		What:   "network ipsec, from a process of the node, endpoints on other nodes",
		Result: "answers", Others: map[string]string{"ipvs": "timeout"},
		Why: "the reply has the service's address before the kernel asks which policy wants it encrypted",
		applies: func(r *testLab, c *Case) bool {
			who := r.client(c.q)
			return r.lab.Network.Mode.Tunnel == topology.ESPTunnel && who.self &&
				slices.ContainsFunc(serving(c.q.state.endpoints, 0), func(s server) bool { return s.node != c.q.translator() })
		},
	}}
}

// differencesOf are those of a mode from the first one.
func differencesOf(backend string) []Difference {
	if modeOf(backend).UserSpace {
		return UserSpaceDifferences()
	}
	return Differences()
}

func modeOf(backend string) topology.ProxyMode {
	return topology.First(datapath.Catalogue().Proxies, func(m topology.ProxyMode) bool { return m.Name == backend })
}

// DifferencesTable is the differences as tables in Markdown: one of the modes that consist of
// rules, one of the others.
func DifferencesTable() string {
	var b strings.Builder
	kernel, programs := []string{}, []string{}
	for i, m := range datapath.Backends() {
		if m.UserSpace || i == 0 {
			programs = append(programs, m.Name)
		}
		if !m.UserSpace {
			kernel = append(kernel, m.Name)
		}
	}
	differenceRows(&b, kernel, Differences())
	b.WriteString("\n")
	differenceRows(&b, programs, UserSpaceDifferences())
	b.WriteString("\n| what the rules of kube-proxy itself lack | why |\n|---|---|\n")
	for _, e := range explained {
		fmt.Fprintf(&b, "| %s | %s |\n", e.what, e.why)
	}
	return b.String()
}

func differenceRows(b *strings.Builder, modes []string, rows []Difference) {
	fmt.Fprintf(b, "| what | %s | why |\n|---|---|%s\n", strings.Join(modes, " | "), strings.Repeat("---|", len(modes)))
	for _, d := range rows {
		fmt.Fprintf(b, "| %s |", d.What)
		for _, m := range modes {
			fmt.Fprintf(b, " %s |", cmp.Or(d.Others[m], d.Result))
		}
		fmt.Fprintf(b, " %s |\n", d.Why)
	}
}

// differs reports whether a row covers a case.
func (r *testLab) differs(c *Case) bool {
	return slices.ContainsFunc(differencesOf(r.Backend), func(d Difference) bool { return d.Others[r.Backend] != "" && d.applies(r, c) })
}
