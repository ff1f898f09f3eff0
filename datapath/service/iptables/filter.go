package iptables

import "github.com/netlab/netlab/datapath/plan"

// The filter table sees a packet after nat had its chance: one that still has a
// service's address found no endpoint.

// refuse rejects everything that goes to a port without any endpoint.
func (pc *portCompiler) refuse() {
	var target plan.Reject
	if pc.ipv6 {
		target.With = "icmp6-port-unreachable"
	}
	comment := pc.name + " has no endpoints"
	pc.filter.add(services, pc.o, target, pc.to(comment, pc.ClusterIP)...)
	pc.filterExternal(comment, target)
}

// dropWithoutLocal drops what policy Local keeps from the endpoints that there are
// on other nodes: silence, not a refusal, tells a load balancer to go elsewhere.
func (pc *portCompiler) dropWithoutLocal() {
	comment := pc.name + " has no local endpoints"
	if !pc.hasInternal() {
		pc.filter.add(services, pc.o, plan.Drop{}, pc.to(comment, pc.ClusterIP)...)
	}
	if !pc.hasExternal() {
		pc.filterExternal(comment, plan.Drop{})
	}
}

// filterExternal applies to all external destinations of the port.
func (pc *portCompiler) filterExternal(comment string, target plan.Target) {
	if pc.sp.NodePort != 0 {
		pc.filter.add(externalServices, pc.o, target, plan.Comment{Text: comment}, plan.AddrType{Dst: "LOCAL"},
			plan.Proto{Name: string(pc.sp.Protocol)}, plan.DPort{Port: pc.sp.NodePort})
	}
}
