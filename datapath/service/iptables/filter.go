package iptables

import (
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// The filter table sees a packet after nat: one that still has a service's address
// found no endpoint.

// refuse rejects everything that goes to a port without any endpoint.
func (pc *portCompiler) refuse() {
	target := iptables.Refuse(pc.ipv6)
	comment := pc.name + " has no endpoints"
	pc.filter.Add(services, pc.o, target, pc.to(comment, pc.ClusterIP)...)
	pc.filterExternal(comment, target)
}

// dropWithoutLocal drops what policy Local keeps from the endpoints on other nodes,
// since silence, not a refusal, makes a load balancer try elsewhere; and what may not
// use the load balancer's addresses.
func (pc *portCompiler) dropWithoutLocal() {
	pc.dropInternal()
	if !pc.finds(pc.ExternalLocal()) {
		pc.filterExternal(pc.name+" has no local endpoints", iptables.Drop{})
	}
	if pc.firewalled() {
		comment := pc.name + " traffic not accepted by " + pc.names.fw
		for _, a := range pc.VIPs {
			pc.filter.Add(proxyFirewall, pc.o, iptables.Drop{}, pc.to(comment, a)...)
		}
	}
}

// dropInternal drops what goes to the cluster IP under policy Local where none is
// local.
func (pc *portCompiler) dropInternal() {
	if !pc.finds(pc.InternalLocal()) {
		pc.filter.Add(services, pc.o, iptables.Drop{}, pc.to(pc.name+" has no local endpoints", pc.ClusterIP)...)
	}
}

// filterExternal applies to all external destinations of the port.
func (pc *portCompiler) filterExternal(comment string, target iptables.Target) {
	for _, a := range pc.ExternalIPs {
		pc.filter.Add(externalServices, pc.o, target, pc.to(comment, a)...)
	}
	for _, a := range pc.VIPs {
		pc.filter.Add(externalServices, pc.o, target, pc.to(comment, a)...)
	}
	if pc.sp.NodePort != 0 {
		pc.filter.Add(externalServices, pc.o, target, iptables.Comment{Text: comment}, iptables.AddrType{Dst: "LOCAL"},
			pc.protocol(), iptables.DPort{Port: pc.sp.NodePort})
	}
}

// healthCheck admits health checks of load balancers, with endpoints or without.
func (pc *portCompiler) healthCheck() {
	if pc.HealthCheckNodePort != 0 {
		pc.filter.Add(nodePorts, pc.o, iptables.Accept{}, iptables.Comment{Text: pc.name + " health check node port"},
			iptables.Proto{Name: string(topology.TCP)}, iptables.DPort{Port: pc.HealthCheckNodePort})
	}
}
