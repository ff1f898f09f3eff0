package iptables

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
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

// endpoint is an endpoint with the texts that rules need.
type endpoint struct {
	*topology.Endpoint
	addr  string // 10.244.1.2:8080
	chain string
}

// servicePort adds the entries of one service port and the chains behind them.
func (c *compiler) servicePort(p *service.Port) {
	name := portName(p, c.layout.colon)
	pc := &portCompiler{compiler: c, Port: p, sp: p.Port, name: name, names: namesOf(name, p.Port.Protocol), o: p.Origin()}
	pc.healthCheck()
	if !p.Any {
		pc.refuse()
		return
	}
	for _, e := range p.All {
		addr := e.Addr.String()
		pc.all = append(pc.all, endpoint{e, addr, endpointChain(name, p.Port.Protocol, addr)})
	}
	if c.layout.xlb {
		pc.xlbEntries()
		pc.xlbChains()
	} else {
		pc.entries()
		pc.dropWithoutLocal()
		pc.chains()
	}
	pc.endpoints()
}

// finds reports whether traffic under a policy finds an endpoint, and chain is where it
// goes: what is not short-circuited, where it is external.
func (pc *portCompiler) finds(local bool) bool { return pc.Any && (!local || len(pc.Local) > 0) }

func (pc *portCompiler) chain(local bool) string {
	if local {
		return pc.names.svl
	}
	return pc.names.svc
}

// firewalled reports whether only some sources may use the load balancer addresses.
func (pc *portCompiler) firewalled() bool { return len(pc.VIPs) > 0 && len(pc.SourceRanges) > 0 }

// to matches an address and the port of the service, in kube-proxy's order.
func (pc *portCompiler) to(comment string, a netip.Addr) []iptables.Match {
	return []iptables.Match{iptables.Comment{Text: comment}, pc.protocol(), iptables.Dst{Prefix: topology.Single(a)}, iptables.DPort{Port: pc.sp.Port}}
}

// toNodePort matches the node port.
func (pc *portCompiler) toNodePort(comment string) []iptables.Match {
	return []iptables.Match{iptables.Comment{Text: comment}, pc.protocol(), iptables.DPort{Port: pc.sp.NodePort}}
}

func (pc *portCompiler) protocol() iptables.Match {
	return iptables.Proto{Name: string(pc.sp.Protocol)}
}

// entries adds the rules of KUBE-SERVICES and KUBE-NODEPORTS that lead to the
// port's chains.
func (pc *portCompiler) entries() {
	if pc.finds(pc.InternalLocal()) {
		pc.nat.Add(services, pc.o, iptables.Jump{Chain: pc.chain(pc.InternalLocal())}, pc.to(pc.name+" cluster IP", pc.ClusterIP)...)
		pc.masqueradeInternal(pc.chain(pc.InternalLocal()))
	}
	external := iptables.Jump{Chain: pc.names.ext}
	for _, a := range pc.ExternalIPs {
		pc.nat.Add(services, pc.o, external, pc.to(pc.name+" external IP", a)...)
	}
	for _, a := range pc.VIPs {
		to := external
		if pc.firewalled() {
			to.Chain = pc.names.fw
		}
		pc.nat.Add(services, pc.o, to, pc.to(pc.name+" loadbalancer IP", a)...)
	}
	if pc.sp.NodePort != 0 {
		if pc.localNodePorts() {
			counted := iptables.NFAcct{Object: "localhost_nps_accepted_pkts", Alone: true}
			pc.nat.Add(nodePorts, pc.o, external, append(pc.toNodePort(pc.name), iptables.Dst{Prefix: loopback4}, counted)...)
		}
		pc.nat.Add(nodePorts, pc.o, external, pc.toNodePort(pc.name)...)
	}
}

// masqueradeInternal adds to a chain that traffic to the cluster IP is marked when
// it does not come from a pod: the endpoint's node may have no route back to it.
func (pc *portCompiler) masqueradeInternal(chain string) {
	matches := pc.to(pc.name+" cluster IP", pc.ClusterIP)
	switch {
	case pc.view.Lab.Proxy.MasqueradeAll:
	case pc.local.IsValid():
		matches = append(matches, iptables.Src{Prefix: pc.local, Not: true})
	default:
		return
	}
	pc.nat.Add(chain, pc.o, pc.mark(), matches...)
}
