package iptables

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// externalChain adds KUBE-EXT-…, which all external destinations of the port lead
// to.
func (pc *portCompiler) externalChain() {
	comment := func(what string) plan.Match {
		return plan.Comment{Text: what + " " + pc.name + " external destinations"}
	}
	ext, cluster := pc.names.ext, plan.Jump{Chain: pc.names.svc}
	if pc.ExternalLocal() {
		// What comes from this node's side of the cluster goes to all endpoints, as if
		// it went out to a load balancer and came back in elsewhere. The node itself
		// may use the very service address as its source, so it is masqueraded.
		fromNode := plan.AddrType{Src: "LOCAL"}
		if pc.local.IsValid() {
			pc.nat.add(ext, pc.o, cluster, comment("pod traffic for"), plan.Src{Prefix: pc.local})
		}
		pc.nat.add(ext, pc.o, toMarkMasq, comment("masquerade LOCAL traffic for"), fromNode)
		pc.nat.add(ext, pc.o, cluster, comment("route LOCAL traffic for"), fromNode)
	} else {
		// The endpoint may be on another node; the reply has to come back here.
		pc.nat.add(ext, pc.o, toMarkMasq, comment("masquerade traffic for"))
	}
	if pc.hasExternal() {
		pc.nat.add(ext, pc.o, plan.Jump{Chain: pc.externalPolicyChain()})
	}
}

// balance adds the rules of a KUBE-SVC-… or KUBE-SVL-… chain that pick one of the
// endpoints, each with the same probability in the end.
func (pc *portCompiler) balance(chain string, endpoints []*topology.Endpoint) {
	all := pc.all
	for i, want := range endpoints {
		for all[0].Endpoint != want { // endpoints are a part of all, in the same order
			all = all[1:]
		}
		e := all[0]
		matches := make([]plan.Match, 1, 2)
		matches[0] = plan.Comment{Text: pc.name + " -> " + e.addr}
		if left := len(endpoints) - i; left > 1 {
			matches = append(matches, plan.Random{Probability: 1 / float64(left)})
		}
		pc.nat.add(chain, pc.o, plan.Jump{Chain: e.chain}, matches...)
	}
}

// endpoints adds a KUBE-SEP-… chain for every endpoint that this node may use.
func (pc *portCompiler) endpoints() {
	var comment plan.Match = plan.Comment{Text: pc.name}
	var protocol plan.Match = plan.Proto{Name: string(pc.sp.Protocol)}
	for _, e := range pc.all {
		a := e.Addr.Addr()
		// A connection of the endpoint to itself: without another source the reply
		// would never leave the pod, and the answer come from the wrong address.
		pc.nat.add(e.chain, pc.o, toMarkMasq, comment, plan.Src{Prefix: netip.PrefixFrom(a, a.BitLen())})
		pc.nat.add(e.chain, pc.o, plan.DNAT{To: e.Addr}, comment, protocol)
	}
}
