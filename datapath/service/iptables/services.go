package iptables

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// portCompiler adds the rules of one service port.
type portCompiler struct {
	*compiler
	*service.Port
	sp    *topology.ServicePort
	name  string // default/web:http
	names chainNames
	all   []endpoint
	o     plan.Origin
}

// endpoint is an endpoint with the texts that rules need of it.
type endpoint struct {
	*topology.Endpoint
	addr  string // 10.244.1.2:8080
	chain string
}

// servicePort adds the entries of one service port and the chains behind them.
func (c *compiler) servicePort(p *service.Port) {
	name := portName(p)
	pc := &portCompiler{compiler: c, Port: p, sp: p.Port, name: name, names: namesOf(name, p.Port.Protocol), o: originOf(p)}
	if !p.Any {
		pc.refuse()
		return
	}
	for _, e := range p.All {
		addr := e.Addr.String()
		pc.all = append(pc.all, endpoint{e, addr, endpointChain(name, p.Port.Protocol, addr)})
	}
	pc.entries()
	pc.dropWithoutLocal()
	if p.External() {
		pc.externalChain()
	}
	if p.UsesCluster() {
		pc.balance(pc.names.svc, p.Cluster)
	}
	if p.UsesLocal() {
		pc.balance(pc.names.svl, p.Local)
	}
	pc.endpoints()
}

// originOf is the service, at the line of the port where that has one.
func originOf(p *service.Port) plan.Origin {
	o := p.Port.Origin
	if o == (topology.Origin{}) {
		o = p.Service.Origin
	}
	return plan.Origin{Object: "service " + p.Service.Namespace + "/" + p.Service.Name, File: o.File, Line: o.Line}
}

// hasInternal reports whether internal traffic finds an endpoint.
func (pc *portCompiler) hasInternal() bool {
	return pc.Any && (!pc.InternalLocal() || len(pc.Local) > 0)
}

// hasExternal reports whether external traffic finds one that did not take a short
// cut.
func (pc *portCompiler) hasExternal() bool {
	return pc.Any && (!pc.ExternalLocal() || len(pc.Local) > 0)
}

// internalChain is where traffic to the cluster IP goes.
func (pc *portCompiler) internalChain() string {
	if pc.InternalLocal() {
		return pc.names.svl
	}
	return pc.names.svc
}

// externalPolicyChain is where external traffic goes that took no short cut.
func (pc *portCompiler) externalPolicyChain() string {
	if pc.ExternalLocal() {
		return pc.names.svl
	}
	return pc.names.svc
}

// to matches an address and the port of the service, in kube-proxy's order.
func (pc *portCompiler) to(comment string, a netip.Addr) []plan.Match {
	return []plan.Match{plan.Comment{Text: comment}, plan.Proto{Name: string(pc.sp.Protocol)},
		plan.Dst{Prefix: netip.PrefixFrom(a, a.BitLen())}, plan.DPort{Port: pc.sp.Port}}
}

// entries adds the rules of KUBE-SERVICES and KUBE-NODEPORTS that lead to the
// port's chains.
func (pc *portCompiler) entries() {
	if pc.hasInternal() {
		pc.nat.add(services, pc.o, plan.Jump{Chain: pc.internalChain()}, pc.to(pc.name+" cluster IP", pc.ClusterIP)...)
		pc.masqueradeInternal()
	}
	if pc.sp.NodePort != 0 {
		pc.nat.add(nodePorts, pc.o, plan.Jump{Chain: pc.names.ext}, plan.Comment{Text: pc.name},
			plan.Proto{Name: string(pc.sp.Protocol)}, plan.DPort{Port: pc.sp.NodePort})
	}
}

// masqueradeInternal marks traffic to the cluster IP that does not come from a pod:
// the endpoint's node may not know the way back to it.
func (pc *portCompiler) masqueradeInternal() {
	matches := pc.to(pc.name+" cluster IP", pc.ClusterIP)
	switch {
	case pc.view.Lab.Proxy.MasqueradeAll:
	case pc.local.IsValid():
		matches = append(matches, plan.Src{Prefix: pc.local, Not: true})
	default:
		return
	}
	pc.nat.add(pc.internalChain(), pc.o, toMarkMasq, matches...)
}
