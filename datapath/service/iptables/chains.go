package iptables

import (
	"math"

	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// chains adds what the entries of the port lead to.
func (pc *portCompiler) chains() {
	if pc.External() {
		pc.externalChain()
	}
	if pc.firewalled() {
		pc.firewallChain(iptables.Jump{Chain: pc.names.ext})
		// It counts what the filter table will drop.
		pc.nat.Add(pc.names.fw, pc.o, nil, iptables.Comment{Text: "other traffic to " + pc.name + " will be dropped by " + proxyFirewall})
	}
	if pc.UsesCluster() {
		pc.balance(pc.names.svc, pc.Cluster)
	}
	if pc.UsesLocal() {
		pc.balance(pc.names.svl, pc.Local)
	}
}

// externalChain adds KUBE-EXT-…, which all external destinations of the port lead
// to.
func (pc *portCompiler) externalChain() {
	comment := func(what string) iptables.Match {
		return iptables.Comment{Text: what + " " + pc.name + " external destinations"}
	}
	ext, cluster := pc.names.ext, iptables.Jump{Chain: pc.names.svc}
	if pc.ExternalLocal() {
		// What comes from pods or the node itself goes to all endpoints, as if it went
		// out to a load balancer and came back in elsewhere. The node itself may use the
		// service address as its source, so it is masqueraded.
		fromNode := iptables.AddrType{Src: "LOCAL"}
		if pc.local.IsValid() {
			pc.nat.Add(ext, pc.o, cluster, comment("pod traffic for"), iptables.Src{Prefix: pc.local})
		}
		pc.nat.Add(ext, pc.o, pc.mark(), comment("masquerade LOCAL traffic for"), fromNode)
		pc.nat.Add(ext, pc.o, cluster, comment("route LOCAL traffic for"), fromNode)
	} else {
		// The endpoint may be on another node; the reply has to come back here.
		pc.nat.Add(ext, pc.o, pc.mark(), comment("masquerade traffic for"))
	}
	if pc.finds(pc.ExternalLocal()) {
		pc.nat.Add(ext, pc.o, iptables.Jump{Chain: pc.chain(pc.ExternalLocal())})
	}
}

// firewallChain adds to KUBE-FW-… the sources that may go on to the load balancer's
// endpoints. Where the node itself may, so may its own load balancer addresses: a node
// that has one bound uses it as the source of what it sends to it.
func (pc *portCompiler) firewallChain(to iptables.Target) {
	comment := iptables.Comment{Text: pc.name + " loadbalancer IP"}
	fromNode := false
	for _, r := range pc.SourceRanges {
		pc.nat.Add(pc.names.fw, pc.o, to, comment, iptables.Src{Prefix: r})
		fromNode = fromNode || pc.nodeIP.IsValid() && r.Contains(pc.nodeIP)
	}
	if !fromNode {
		return
	}
	for _, a := range pc.VIPs {
		pc.nat.Add(pc.names.fw, pc.o, to, comment, iptables.Src{Prefix: topology.Single(a)})
	}
}

// balance adds the rules of a KUBE-SVC-… or KUBE-SVL-… chain that pick one of the
// endpoints, each with the same probability in the end.
func (pc *portCompiler) balance(chain string, endpoints []*topology.Endpoint) {
	list := pc.part(endpoints)
	comments := make([]iptables.Match, len(list))
	for i, e := range list {
		comments[i] = iptables.Comment{Text: pc.name + " -> " + e.addr}
	}
	pc.stick(chain, list, comments)
	pc.pick(chain, list, comments)
}

// part returns endpoints with their texts; they are a part of all, in the same
// order.
func (pc *portCompiler) part(endpoints []*topology.Endpoint) []endpoint {
	list := make([]endpoint, 0, len(endpoints))
	all := pc.all
	for _, want := range endpoints {
		for all[0].Endpoint != want {
			all = all[1:]
		}
		list = append(list, all[0])
	}
	return list
}

// stick adds, under session affinity, that a client goes to its most recent endpoint.
func (pc *portCompiler) stick(chain string, list []endpoint, comments []iptables.Match) {
	seconds := pc.Service.AffinitySeconds
	if seconds == 0 {
		return
	}
	for i, e := range list {
		lately := iptables.Recent{List: e.chain, Seconds: seconds, Reap: true, IPv6: pc.ipv6}
		pc.nat.Add(chain, pc.o, iptables.Jump{Chain: e.chain}, pc.commented(comments[i], lately)...)
	}
}

// pick adds the choice: of n, the first with probability 1/n, the second with
// 1/(n-1), the last always.
func (pc *portCompiler) pick(chain string, list []endpoint, comments []iptables.Match) {
	for i, e := range list {
		matches := pc.commented(comments[i])
		if left := len(list) - i; left > 1 {
			matches = append(matches, pc.chance(left))
		}
		pc.nat.Add(chain, pc.o, iptables.Jump{Chain: e.chain}, matches...)
	}
}

// ofEndpoint is the comment of an endpoint's rule; nil: the layout has none.
func (pc *portCompiler) ofEndpoint() iptables.Match {
	if pc.layout.bare {
		return nil
	}
	return iptables.Comment{Text: pc.name}
}

// chance is the probability of one of n.
func (c *compiler) chance(n int) iptables.Match {
	exact := math.Pow10(c.layout.decimals)
	return iptables.Random{Probability: math.Round(exact/float64(n)) / exact}
}

// commented returns the matches after a comment, which the rules of endpoints have
// unless there are very many of them (comments are half of the rules' bytes), or none.
func (pc *portCompiler) commented(comment iptables.Match, matches ...iptables.Match) []iptables.Match {
	list := make([]iptables.Match, 0, len(matches)+2)
	if !pc.large && comment != nil {
		list = append(list, comment)
	}
	return append(list, matches...)
}

// endpoints adds a KUBE-SEP-… chain for every endpoint that this node may use.
func (pc *portCompiler) endpoints() {
	comment := pc.ofEndpoint()
	protocol := pc.protocol()
	for _, e := range pc.all {
		// A connection of the endpoint to itself: without another source the reply
		// would never leave the pod, and would come from the wrong address.
		pc.nat.Add(e.chain, pc.o, pc.mark(), pc.commented(comment, iptables.Src{Prefix: topology.Single(e.Addr.Addr())})...)
		matches := pc.commented(comment)
		if pc.Service.AffinitySeconds != 0 {
			matches = append(matches, iptables.Recent{List: e.chain, Set: true, IPv6: pc.ipv6})
		}
		pc.nat.Add(e.chain, pc.o, iptables.DNAT{To: e.Addr}, append(matches, protocol)...)
	}
}
