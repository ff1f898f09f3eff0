package iptables

import (
	"fmt"
	"math"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// The legacy layout is that of kube-proxy before 1.24, which older articles show:
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
//     FORWARD as well, so that both layouts behave alike;
//   - ports without a name end in a colon, probabilities have five decimals.
//
// Internal policy Local is newer: it has KUBE-SVL-… here as well.

// dropBit marks packets that KUBE-FIREWALL drops: kubelet's
// --iptables-drop-bit.
const dropBit = 1 << 15

var toMarkDrop = iptables.Jump{Chain: markDrop}

// legacyStatic adds the rules that mark for dropping and drop.
func (c *compiler) legacyStatic() {
	c.nat.Add(markDrop, c.proxy, iptables.OrMark{Bits: dropBit})
	c.filter.Add(firewall, c.proxy, iptables.Drop{}, iptables.Comment{Text: "kubernetes firewall for dropping marked packets"},
		iptables.Mark{Value: dropBit, Mask: dropBit})
}

// legacyExternal is where an external destination goes once it is marked for
// masquerading, if needed.
func (pc *portCompiler) legacyExternal() iptables.Jump {
	if pc.ExternalLocal() {
		return iptables.Jump{Chain: pc.names.xlb}
	}
	return iptables.Jump{Chain: pc.names.svc}
}

// legacyEntries adds the rules of KUBE-SERVICES and KUBE-NODEPORTS.
func (pc *portCompiler) legacyEntries() {
	if pc.finds(pc.InternalLocal()) {
		pc.masqueradeInternal(services)
		pc.nat.Add(services, pc.o, iptables.Jump{Chain: pc.chain(pc.InternalLocal())}, pc.to(pc.name+" cluster IP", pc.ClusterIP)...)
	}
	pc.dropInternal()
	for _, a := range pc.ExternalIPs {
		to := pc.to(pc.name+" external IP", a)
		if !pc.ExternalLocal() {
			pc.nat.Add(services, pc.o, toMarkMasq, to...)
		}
		pc.nat.Add(services, pc.o, pc.legacyExternal(), to...)
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
		pc.nat.Add(nodePorts, pc.o, toMarkMasq, mark...)
	}
	pc.nat.Add(nodePorts, pc.o, pc.legacyExternal(), to...)
}

// legacyChains adds what the entries lead to.
func (pc *portCompiler) legacyChains() {
	if len(pc.VIPs) > 0 {
		pc.legacyFirewall()
	}
	if pc.External() && pc.ExternalLocal() {
		pc.legacyLocal()
	}
	if pc.UsesCluster() {
		list := pc.part(pc.Cluster)
		comments := pc.legacyComments(list, func(int) string { return pc.name })
		pc.stick(pc.names.svc, list, comments)
		pc.pick(pc.names.svc, list, comments)
	}
	if pc.InternalLocal() {
		pc.balance(pc.names.svl, pc.Local)
	}
}

func (pc *portCompiler) legacyComments(list []endpoint, text func(i int) string) []iptables.Match {
	comments := make([]iptables.Match, len(list))
	for i := range list {
		comments[i] = iptables.Comment{Text: text(i)}
	}
	return comments
}

// legacyFirewall adds KUBE-FW-…, through which all go to a load balancer address.
func (pc *portCompiler) legacyFirewall() {
	comment := iptables.Comment{Text: pc.name + " loadbalancer IP"}
	if !pc.ExternalLocal() {
		pc.nat.Add(pc.names.fw, pc.o, toMarkMasq, comment)
	}
	if !pc.firewalled() {
		pc.nat.Add(pc.names.fw, pc.o, pc.legacyExternal(), comment)
	}
	pc.firewallChain(pc.legacyExternal())
	pc.nat.Add(pc.names.fw, pc.o, toMarkDrop, comment)
}

// legacyLocal adds KUBE-XLB-….
func (pc *portCompiler) legacyLocal() {
	xlb, cluster := pc.names.xlb, iptables.Jump{Chain: pc.names.svc}
	if pc.local.IsValid() {
		pc.nat.Add(xlb, pc.o, cluster, iptables.Comment{Text: "Redirect pods trying to reach external loadbalancer VIP to clusterIP"},
			iptables.Src{Prefix: pc.local})
	}
	fromNode := iptables.AddrType{Src: "LOCAL"}
	pc.nat.Add(xlb, pc.o, toMarkMasq, iptables.Comment{Text: "masquerade LOCAL traffic for " + pc.name + " LB IP"}, fromNode)
	pc.nat.Add(xlb, pc.o, cluster, iptables.Comment{Text: "route LOCAL traffic for " + pc.name + " LB IP"}, fromNode)
	if len(pc.Local) == 0 {
		pc.nat.Add(xlb, pc.o, toMarkDrop, iptables.Comment{Text: pc.name + " has no local endpoints"})
		return
	}
	list := pc.part(pc.Local)
	pc.stick(xlb, list, pc.legacyComments(list, func(int) string { return pc.name }))
	pc.pick(xlb, list, pc.legacyComments(list, func(i int) string { return fmt.Sprintf("Balancing rule %d for %s", i, pc.name) }))
}

// chance is the probability of one of n.
func (c *compiler) chance(n int) iptables.Match {
	p := 1 / float64(n)
	if c.legacy {
		p = math.Round(p*1e5) / 1e5
	}
	return iptables.Random{Probability: p}
}
