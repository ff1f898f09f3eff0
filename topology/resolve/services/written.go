package services

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// checkEndpointBlocks reports endpoint blocks that make no sense.
func (r *resolver) checkEndpointBlocks(s *resolving) {
	if len(s.spec.Endpoints) == 0 || s.Type == topology.ExternalName {
		return
	}
	if s.Selector != nil {
		r.Errorf(draft.At(s.spec.Endpoints[0].Origin, s.spec.SelectorOrigin), "Selector and endpoints",
			"Service %q has a selector, so its endpoints are the selected pods. Remove the selector or the endpoint blocks.", s.Name)
	}
	for _, e := range s.spec.Endpoints {
		r.checkEndpointBlock(s, e)
	}
}

func (r *resolver) checkEndpointBlock(s *resolving, e topology.EndpointSpec) {
	switch {
	case e.Address.Set && e.Pod.Set:
		r.Errorf(draft.At(e.Pod.Origin), "Address and pod", "An endpoint is an address or a pod. Remove one of them.")
	case e.Pod.Set:
		if r.podNamed(e.Pod.Value) == nil {
			r.Errorf(draft.At(e.Pod.Origin), "Unknown pod", "There is no pod %q.%s Refer to one, such as pod.web.", draft.Shorten(e.Pod.Value), topology.DidYouMean(e.Pod.Value, r.podNames()))
		}
		if e.Node.Set {
			r.Errorf(draft.At(e.Node.Origin), "Node of a pod", "The endpoint is a pod, which runs on its own node. Remove node.")
		}
	case e.Address.Set:
		if r.usableAddress(e.Address.Value, "endpoint address", e.Address.Origin) && !slices.Contains(s.six, e.Address.Value.Is6()) && len(s.six) > 0 {
			r.Errorf(draft.At(e.Address.Origin), "Endpoint of other family",
				"The endpoint %s is %s, but service %q is %s only. Set ip_families, or use another address.",
				e.Address.Value, draft.FamilyName(e.Address.Value.Is6()), s.Name, draft.FamilyName(s.six[0]))
		}
	case e.Address.Origin == (topology.Origin{}) && e.Pod.Origin == (topology.Origin{}):
		r.Errorf(draft.At(e.Origin, s.Origin), "Endpoint without address", "An endpoint needs an address or a pod. Add pod = pod.NAME.")
	}
	if n := e.Port; n.Set && (n.Value < 1 || n.Value > 65535) {
		r.Errorf(draft.At(n.Origin), "Port out of range", "The port of an endpoint is %d. Use a number from 1 to 65535.", n.Value)
	}
	if e.Hostname.Set {
		r.CheckName("host", e.Hostname.Value, e.Hostname.Origin)
	}
	var known []string
	for _, p := range s.spec.Ports {
		known = append(known, p.Name)
	}
	if n := e.PortName; n.Set && !slices.Contains(known, n.Value) {
		r.Errorf(draft.At(n.Origin), "No such port", "Service %q has no port %q.%s Name one of its ports, or leave it out for all.", s.Name, draft.Shorten(n.Value), topology.DidYouMean(n.Value, known))
	}
	for _, list := range []topology.Opt[[]string]{{Value: listOf(e.Node), Set: e.Node.Set, Origin: e.Node.Origin}, e.ForNodes} {
		for _, name := range list.Value {
			r.Node(name, list.Origin)
		}
	}
	r.weight(e)
	if e.Ready.Value && e.Terminating.Value {
		r.Errorf(draft.At(e.Ready.Origin), "Ready and terminating", "A terminating endpoint is never ready. Remove ready, or set serving = true.")
	}
}

// listOf is the value of a name, if there is one.
func listOf[T any](o topology.Opt[T]) []T {
	if !o.Set {
		return nil
	}
	return []T{o.Value}
}

func (r *resolver) podNamed(name string) *topology.Pod {
	if !strings.Contains(name, "/") {
		name = topology.DefaultNamespace + "/" + name
	}
	return topology.First(r.Lab.Pods, func(p *topology.Pod) bool { return p.Namespace+"/"+p.Name == name })
}

func (r *resolver) podNames() []string {
	names := map[string]bool{}
	for _, p := range r.Lab.Pods {
		names[p.AgentName()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// writtenEndpoints adds the endpoint blocks of a service for one port, each address
// once.
// Nothing is derived from them: they have the hints that are written.
func (r *resolver) writtenEndpoints(s *resolving, p *topology.ServicePort) {
	for _, e := range s.spec.Endpoints {
		if e.PortName.Set && e.PortName.Value != p.Name {
			continue
		}
		var pod *topology.Pod
		addrs := listOf(e.Address)
		base := topology.Endpoint{Ready: true, Serving: true, Node: e.Node.Value, Hostname: e.Hostname.Value, Weight: e.Weight.Or(1), ForZones: sortedNames(e.ForZones.Value), ForNodes: sortedNames(e.ForNodes.Value)}
		if e.Pod.Set {
			if pod = r.podNamed(e.Pod.Value); pod == nil {
				continue
			}
			addrs = pod.Addrs
			base.Ready, base.Serving, base.Terminating, base.Node = s.ready(pod), pod.Serving, pod.Terminating, pod.Node.Name
		}
		base.Ready, base.Serving, base.Terminating = e.State(base.Ready, base.Serving, base.Terminating, s.PublishNotReadyAddresses)
		if n := r.Nodes[base.Node]; n != nil {
			base.Zone = n.Zone
		}
		port, ok := r.endpointPort(e, p, pod)
		if !ok {
			continue
		}
		for _, a := range addrs {
			if !slices.Contains(s.six, a.Is6()) {
				continue
			}
			one := base
			one.Addr, one.Pod = netip.AddrPortFrom(a, port), pod
			if pod == nil {
				one.Pod = r.podAt(a)
			}
			if old := addEndpoint(p, &one); old != nil && old.Pod == one.Pod {
				r.Errorf(draft.At(e.Address.Origin, e.Pod.Origin, e.Origin), "Endpoint listed twice",
					"Service %q has the endpoint %s already, and kube-proxy would keep only one. Remove one.", s.Name, one.Addr)
			}
		}
	}
}

// addEndpoint adds an endpoint to a port. Proxies identify endpoints by address and port, so that two pods
// on the network of one node can be the same one: the first stays, unless only the
// second is ready. It returns the other one of the same address.
func addEndpoint(p *topology.ServicePort, e *topology.Endpoint) *topology.Endpoint {
	for i, old := range p.Endpoints {
		if old.Addr != e.Addr {
			continue
		}
		if e.Ready && !old.Ready {
			p.Endpoints[i] = e
		}
		return old
	}
	p.Endpoints = append(p.Endpoints, e)
	return nil
}

// podAt is the pod with an address of its own.
func (r *resolver) podAt(a netip.Addr) *topology.Pod {
	return topology.First(r.Lab.Pods, func(p *topology.Pod) bool { return !p.HostNetwork && slices.Contains(p.Addrs, a) })
}

// endpointPort is the port of an endpoint block: its own, else what the target port
// means there.
func (r *resolver) endpointPort(e topology.EndpointSpec, p *topology.ServicePort, pod *topology.Pod) (uint16, bool) {
	if e.Port.Set {
		return uint16(e.Port.Value), e.Port.Value > 0 && e.Port.Value <= 65535
	}
	if n, err := strconv.Atoi(p.TargetPort); err == nil {
		return uint16(n), true
	}
	where := draft.At(e.Pod.Origin, e.Address.Origin, e.Origin)
	if pod == nil {
		r.Errorf(where, "Endpoint without port",
			"The target port %q is the name of a pod's port, and an address has none. Add port = 8080 to the endpoint.", draft.Shorten(p.TargetPort))
		return 0, false
	}
	var known []string
	for _, pp := range pod.Ports {
		if pp.Protocol != p.Protocol {
			continue
		}
		if pp.Name == p.TargetPort {
			return pp.Number, true
		}
		known = append(known, pp.Name)
	}
	r.Errorf(where, "No pod has that port", "Pod %q has no %s port named %q.%s Name one of its ports, or give a number.",
		pod.AgentName(), p.Protocol, draft.Shorten(p.TargetPort), draft.HintPorts(p.TargetPort, known))
	return 0, false
}

// maxWeight is the largest weight of a real server: ipvsadm takes no more.
const maxWeight = 65535

// weight checks the weight of an endpoint, which only virtual servers have.
func (r *resolver) weight(e topology.EndpointSpec) {
	if !e.Weight.Set {
		return
	}
	var balancing []string
	for _, m := range r.Catalogue.Proxies {
		if m.VirtualServers {
			balancing = append(balancing, m.Name)
		}
	}
	if r.Number(e.Weight, "weight", 1, 0, maxWeight) == e.Weight.Value && !r.Lab.Proxy.Mode.VirtualServers && len(balancing) > 0 {
		r.Warnf(draft.At(e.Weight.Origin), "Weight without IPVS",
			"Only proxy mode %s uses weights; this lab has mode %s, so all endpoints get the same share. Remove weight, or write proxy { mode = %q }.",
			topology.OneOf(balancing), r.Lab.Proxy.Mode.Name, balancing[0])
	}
}
