package nftables

import (
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/topology"
)

// chains adds what the elements of the port lead to.
func (pc *portCompiler) chains() {
	if pc.firewalled() {
		pc.firewallChain()
	}
	if !pc.Any {
		return
	}
	if pc.finds(pc.InternalLocal()) {
		pc.masqueradeInternal(pc.policyChain(pc.InternalLocal()))
	}
	if pc.External() {
		pc.externalChain()
	}
	if pc.UsesCluster() && len(pc.Cluster) > 0 {
		pc.balance(pc.clusterChain, pc.Cluster)
	}
	if pc.UsesLocal() && len(pc.Local) > 0 {
		pc.balance(pc.localChain, pc.Local)
	}
	for _, e := range pc.All {
		pc.endpoint(e)
	}
}

// masqueradeInternal adds to a chain that traffic to the cluster IP is marked when it does not
// come from a pod: the endpoint's node may have no route back to it.
func (pc *portCompiler) masqueradeInternal(chain string) {
	to, mark := is(pc.dst, nft.Addr(pc.ClusterIP)), nft.Jump(markMasq)
	switch {
	case pc.view.Lab.Proxy.MasqueradeAll:
		pc.add(chain, pc.o, to, mark)
	case pc.local.IsValid():
		pc.add(chain, pc.o, to, isNot(pc.src, nft.Prefix(pc.local)), mark)
	}
}

// externalChain adds external-…, which all external destinations of the port lead to.
func (pc *portCompiler) externalChain() {
	ext, cluster, mark := pc.external, nft.Goto(pc.clusterChain), nft.Jump(markMasq)
	if pc.ExternalLocal() {
		// What comes from pods or the node itself goes to all endpoints, as if it went
		// out to a load balancer and came back in elsewhere. The node itself may use the
		// service address as its source, so it is masqueraded.
		fromNode := is(nft.FibSrcType, nft.Number(nft.Local))
		if pc.local.IsValid() {
			pc.say(ext, pc.o, "short-circuit pod traffic", is(pc.src, nft.Prefix(pc.local)), cluster)
		}
		pc.say(ext, pc.o, "masquerade local traffic", fromNode, mark)
		pc.say(ext, pc.o, "short-circuit local traffic", fromNode, cluster)
	} else {
		pc.add(ext, pc.o, mark) // the endpoint may be on another node; the reply has to come back here
	}
	if pc.finds(pc.ExternalLocal()) {
		pc.add(ext, pc.o, nft.Goto(pc.policyChain(pc.ExternalLocal())))
	}
}

// firewallChain drops what comes from other sources than the load balancer's.
func (pc *portCompiler) firewallChain() {
	list := pc.Admitted(pc.view.Node)
	if len(list) == 1 { // as nft writes a set of one
		pc.add(pc.sifter, pc.o, isNot(pc.src, nft.Prefix(list[0])), drop)
		return
	}
	var elements []nft.Element
	for _, p := range list {
		elements = append(elements, nft.Element{Key: []nft.Value{nft.Prefix(p)}})
	}
	pc.add(pc.sifter, pc.o, nft.Lookup{Fields: []nft.Field{pc.src}, Elements: elements, Not: true}, drop)
}

// balance fills service-… or local-…: a client goes to its most recent endpoint, under session
// affinity, and others to one that is drawn.
func (pc *portCompiler) balance(chain string, list []*topology.Endpoint) {
	elements := make([]nft.Element, 0, len(list))
	for i, e := range list {
		name := endpointName(pc.Port, e.Addr)
		if pc.Service.AffinitySeconds != 0 {
			pc.add(chain, pc.o, nft.Lookup{Fields: []nft.Field{pc.src}, Set: "affinity-" + name}, nft.Goto("endpoint-"+name))
		}
		elements = append(elements, nft.Element{Key: []nft.Value{nft.Number(uint32(i))}, Verdict: nft.Goto("endpoint-" + name)})
	}
	pc.add(chain, pc.o, nft.VMap{Fields: []nft.Field{nft.Random(len(list))}, Elements: elements})
}

// endpoint adds endpoint-… for an endpoint that this node may use.
func (pc *portCompiler) endpoint(e *topology.Endpoint) {
	name := endpointName(pc.Port, e.Addr)
	chain := "endpoint-" + name
	if _, known := pc.compiler.chains[chain]; known {
		return
	}
	// A connection of the endpoint to itself: without another source the reply would never
	// leave the pod, and would come from the wrong address.
	pc.add(chain, pc.o, is(pc.src, nft.Addr(e.Addr.Addr())), nft.Jump(markMasq))
	if seconds := pc.Service.AffinitySeconds; seconds != 0 {
		pc.set(nft.Set{Name: "affinity-" + name, Key: []nft.Type{pc.addr}, Timeout: uint32(seconds), Origin: pc.o})
		pc.add(chain, pc.o, nft.Update{Fields: []nft.Field{pc.src}, Set: "affinity-" + name})
	}
	pc.add(chain, pc.o, is(nft.L4Proto, pc.protocol()), nft.DNAT{IPv6: pc.ipv6, To: nft.Addr(e.Addr.Addr()), Port: e.Addr.Port(), OneFamily: true})
}
