package nftables

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/service"
)

// portCompiler adds the elements and chains of one service port.
type portCompiler struct {
	*compiler
	*service.Port
	comment                                    string // default/web:http
	clusterChain, localChain, external, sifter string
	o                                          plan.Origin
}

func (c *compiler) servicePort(p *service.Port) {
	base := baseName(p)
	pc := &portCompiler{compiler: c, Port: p, comment: p.Name(), o: p.Origin(),
		clusterChain: "service-" + base, localChain: "local-" + base, external: "external-" + base, sifter: "firewall-" + base}
	c.put(clusterIPs, nft.Element{Key: []nft.Value{nft.Addr(p.ClusterIP)}})
	pc.entries()
	pc.chains()
}

// finds reports whether traffic under a policy finds an endpoint, and policyChain is where it
// goes: what is not short-circuited, where it is external.
func (pc *portCompiler) finds(local bool) bool { return pc.Any && (!local || len(pc.Local) > 0) }

func (pc *portCompiler) policyChain(local bool) string {
	if local {
		return pc.localChain
	}
	return pc.clusterChain
}

// firewalled reports whether only some sources may use the load balancer addresses.
func (pc *portCompiler) firewalled() bool { return len(pc.VIPs) > 0 && len(pc.SourceRanges) > 0 }

// entries adds the elements of the addresses and of the node port.
func (pc *portCompiler) entries() {
	if pc.finds(pc.InternalLocal()) {
		pc.put(serviceIPs, nft.Element{Key: pc.at(pc.ClusterIP), Verdict: nft.Goto(pc.policyChain(pc.InternalLocal()))})
	} else {
		pc.turnAway(noEndpointServices, pc.at(pc.ClusterIP))
	}
	for _, list := range [][]netip.Addr{pc.ExternalIPs, pc.VIPs} {
		for _, a := range list {
			pc.outer(serviceIPs, noEndpointServices, pc.at(a))
		}
	}
	if pc.firewalled() {
		for _, a := range pc.VIPs {
			pc.put(firewallIPs, nft.Element{Key: pc.at(a), Verdict: nft.Goto(pc.sifter)})
		}
	}
	if pc.Port.Port.NodePort != 0 {
		pc.outer(serviceNodePorts, noEndpointPorts, []nft.Value{pc.protocol(), nft.Number(uint32(pc.Port.Port.NodePort))})
	}
}

// outer adds an external address: to the one map if there are endpoints anywhere, since pods and
// the node itself are short-circuited, and to the other if traffic from outside finds none.
func (pc *portCompiler) outer(found, none string, key []nft.Value) {
	if pc.Any {
		pc.put(found, nft.Element{Key: key, Verdict: nft.Goto(pc.external)})
	}
	if !pc.finds(pc.ExternalLocal()) {
		pc.turnAway(none, key)
	}
}

// turnAway adds that packets are dropped, or rejected if there is no endpoint anywhere.
func (pc *portCompiler) turnAway(set string, key []nft.Value) {
	e := nft.Element{Key: key, Verdict: drop, Comment: pc.comment}
	if !pc.Any {
		e.Verdict = nft.Goto(rejectChain)
	}
	pc.put(set, e)
}

// at is the key of an address and the service's port.
func (pc *portCompiler) at(a netip.Addr) []nft.Value {
	return []nft.Value{nft.Addr(a), pc.protocol(), nft.Number(uint32(pc.Port.Port.Port))}
}

func (pc *portCompiler) protocol() nft.Value { return nft.Protocol(string(pc.Port.Port.Protocol)) }
