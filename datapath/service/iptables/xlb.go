package iptables

import (
	"fmt"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// Until 1.23 kube-proxy had no KUBE-EXT-…:
//
//   - KUBE-SERVICES itself marks for masquerade what goes to a cluster IP and does
//     not come from a pod;
//   - each external destination marks and jumps on its own: node ports in
//     KUBE-NODEPORTS, external addresses in KUBE-SERVICES, load balancer addresses
//     in KUBE-FW-…;
//   - under external policy Local they lead to KUBE-XLB-…, which has the short circuits
//     and picks a local endpoint, all in one chain;
//   - what may not pass is marked by KUBE-MARK-DROP, and dropped in KUBE-FIREWALL.
//     kubelet hooks that into INPUT and OUTPUT only, so that a packet to a load
//     balancer address leaked to the host outside that has it; here it is hooked into
//     FORWARD as well, so that all layouts behave alike.
//
// Internal policy Local is newer: it has KUBE-SVL-… here as well.

// xlbExternal is where an external destination goes once it is marked for
// masquerading, if needed.
func (pc *portCompiler) xlbExternal() iptables.Jump {
	if pc.ExternalLocal() {
		return iptables.Jump{Chain: pc.names.xlb}
	}
	return iptables.Jump{Chain: pc.names.svc}
}

// xlbEntries adds the rules of KUBE-SERVICES and KUBE-NODEPORTS.
func (pc *portCompiler) xlbEntries() {
	if pc.finds(pc.InternalLocal()) {
		pc.masqueradeInternal(services)
		pc.nat.Add(services, pc.o, iptables.Jump{Chain: pc.chain(pc.InternalLocal())}, pc.to(pc.name+" cluster IP", pc.ClusterIP)...)
	}
	pc.dropInternal()
	for _, a := range pc.ExternalIPs {
		to := pc.to(pc.name+" external IP", a)
		if !pc.ExternalLocal() {
			pc.nat.Add(services, pc.o, pc.mark(), to...)
		}
		pc.nat.Add(services, pc.o, pc.xlbExternal(), to...)
	}
	for _, a := range pc.VIPs {
		pc.nat.Add(services, pc.o, iptables.Jump{Chain: pc.names.fw}, pc.to(pc.name+" loadbalancer IP", a)...)
	}
	if pc.sp.NodePort == 0 {
		return
	}
	to := pc.toNodePort(pc.name)
	mark := to
	if pc.ExternalLocal() {
		// The node's own connections to 127.0.0.1.
		mark = append(to[:len(to):len(to)], iptables.Src{Prefix: loopback4})
	}
	if !pc.ExternalLocal() || !pc.ipv6 {
		pc.nat.Add(nodePorts, pc.o, pc.mark(), mark...)
	}
	pc.nat.Add(nodePorts, pc.o, pc.xlbExternal(), to...)
}

// xlbChains adds what the entries lead to.
func (pc *portCompiler) xlbChains() {
	if len(pc.VIPs) > 0 {
		pc.xlbFirewall()
	}
	if pc.External() && pc.ExternalLocal() {
		pc.xlbLocal()
	}
	if pc.UsesCluster() {
		list := pc.part(pc.Cluster)
		comments := make([]iptables.Match, len(list))
		for i := range list {
			comments[i] = pc.ofEndpoint()
		}
		pc.stick(pc.names.svc, list, comments)
		pc.pick(pc.names.svc, list, comments)
	}
	if pc.InternalLocal() {
		pc.balance(pc.names.svl, pc.Local)
	}
}

func (pc *portCompiler) listComments(list []endpoint, text func(i int) string) []iptables.Match {
	comments := make([]iptables.Match, len(list))
	for i := range list {
		comments[i] = iptables.Comment{Text: text(i)}
	}
	return comments
}

// xlbFirewall adds KUBE-FW-…, through which all go to a load balancer address.
func (pc *portCompiler) xlbFirewall() {
	comment := iptables.Comment{Text: pc.name + " loadbalancer IP"}
	if !pc.ExternalLocal() {
		pc.nat.Add(pc.names.fw, pc.o, pc.mark(), comment)
	}
	if !pc.firewalled() {
		pc.nat.Add(pc.names.fw, pc.o, pc.xlbExternal(), comment)
	}
	pc.firewallChain(pc.xlbExternal())
	pc.nat.Add(pc.names.fw, pc.o, iptables.Jump{Chain: markDrop}, comment)
}

// xlbLocal adds KUBE-XLB-….
func (pc *portCompiler) xlbLocal() {
	xlb, cluster := pc.names.xlb, iptables.Jump{Chain: pc.names.svc}
	if pc.local.IsValid() {
		pc.nat.Add(xlb, pc.o, cluster, iptables.Comment{Text: "Redirect pods trying to reach external loadbalancer VIP to clusterIP"},
			iptables.Src{Prefix: pc.local})
	}
	fromNode := iptables.AddrType{Src: "LOCAL"}
	pc.nat.Add(xlb, pc.o, pc.mark(), iptables.Comment{Text: "masquerade LOCAL traffic for " + pc.name + " LB IP"}, fromNode)
	route := "route LOCAL traffic for " + pc.name + " LB IP"
	if pc.layout.toServiceChain {
		route += " to service chain"
	}
	pc.nat.Add(xlb, pc.o, cluster, iptables.Comment{Text: route}, fromNode)
	if len(pc.Local) == 0 {
		pc.nat.Add(xlb, pc.o, iptables.Jump{Chain: markDrop}, iptables.Comment{Text: pc.name + " has no local endpoints"})
		return
	}
	list := pc.part(pc.Local)
	pc.stick(xlb, list, pc.listComments(list, func(int) string { return pc.name }))
	pc.pick(xlb, list, pc.listComments(list, func(i int) string { return fmt.Sprintf("Balancing rule %d for %s", i, pc.name) }))
}
