package iptables

import (
	"slices"

	"github.com/netlab/netlab/topology"
)

// A layout is how one version of kube-proxy and of its kubelet wrote the rules of a service.
// What they do is the same in all: where an old version did less (external policy Local for
// external addresses and for processes of the node, internal policy Local, health checks,
// packets that connection tracking cannot match), its layout has the rules of later ones
// besides.
type layout struct {
	topology.Layout
	// kubelet says that the kubelet's chains are there, by which marked packets are dropped
	// (pkg/kubelet/kubelet_network_linux.go, until 1.26).
	kubelet bool
	// canaries says that kube-proxy, and the kubelet if its chains are there, notice by an empty
	// chain that somebody flushed their rules (since 1.17).
	canaries bool
	// xlb says that external destinations mark and jump on their own, under policy Local to
	// KUBE-XLB-…, and that KUBE-SERVICES marks what goes to cluster IPs (until 1.23).
	xlb bool
	// toServiceChain says that comments of KUBE-XLB-… name where local traffic goes on (since 1.15).
	toServiceChain bool
	// input says that INPUT of the table filter leads to KUBE-SERVICES, too (since 1.14).
	input bool
	// marksStay says that KUBE-POSTROUTING masquerades what is marked and leaves the mark (until
	// 1.18), with the client's port if that is free (fully at random since 1.16).
	marksStay bool
	// byPods says that KUBE-FORWARD lets replies through by two rules, from pods and to them
	// (until 1.22). With byAddress they name the addresses of pods (until 1.17).
	byPods, byAddress bool
	// colon says that ports without a name end in a colon (ServicePortName.String in
	// pkg/proxy/types.go, until 1.18).
	colon bool
	// decimals is how exact probabilities are (five until 1.16).
	decimals int
	// bare says that the rules of endpoints have no comments: appendServiceCommentLocked lost
	// them (until 1.17).
	bare bool
	// inline says that each rule sets the mark itself, without KUBE-MARK-MASQ (1.1).
	inline bool
}

// layouts are those of the versions whose rules articles show, the default first.
var layouts = []layout{
	{Layout: topology.Layout{Name: topology.LayoutCurrent}, canaries: true, decimals: 10},
	{Layout: past("1.26", "as in Kubernetes 1.26, where the kubelet has chains, too"), kubelet: true, canaries: true, decimals: 10},
	{Layout: marking("1.19", "with KUBE-XLB- for policy Local"), xlb: true, kubelet: true, canaries: true, toServiceChain: true, input: true, byPods: true, decimals: 10},
	named("1.14", "whose ports without a name end in a colon, and whose endpoints lost their comments"),
	named("legacy", "another name of 1.14"),
	{Layout: marking("1.1", "where each rule sets the mark itself"), xlb: true, kubelet: true, marksStay: true, byPods: true, byAddress: true, colon: true, decimals: 5, inline: true},
}

// named is the layout of 1.14 by one of its names.
func named(name, about string) layout {
	return layout{Layout: marking(name, about), xlb: true, kubelet: true, input: true, marksStay: true, byPods: true, byAddress: true, colon: true, decimals: 5, bare: true}
}

func past(name, about string) topology.Layout {
	return topology.Layout{Name: name, About: about, Past: true}
}

func marking(name, about string) topology.Layout {
	l := past(name, about)
	l.MarksDrops = true
	return l
}

// facts are what the catalogue says of the layouts.
func facts() []topology.Layout {
	list := make([]topology.Layout, len(layouts))
	for i, l := range layouts {
		list[i] = l.Layout
	}
	return list
}

// layoutOf is the layout of a lab's rules.
func layoutOf(p *topology.Proxy) *layout {
	return &layouts[max(0, slices.IndexFunc(layouts, func(l layout) bool { return l.Name == p.Layout }))]
}
