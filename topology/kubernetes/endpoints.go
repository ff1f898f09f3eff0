package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

// batch is endpoints of one family that have the same ports: those of an EndpointSlice, or of a
// subset of Endpoints.
type batch struct {
	six       bool
	ports     []target // none: they are there without a port
	endpoints []*topology.Endpoint
}

// target is a port of a service and its number at endpoints.
type target struct {
	of     *topology.ServicePort
	number uint16
}

func (t target) protocol() string { return strings.ToUpper(string(t.of.Protocol)) }

// batches puts the endpoints of a service together that have the same ports, as the EndpointSlice
// controller does (getEndpointPorts and newPortMapKey in kubernetes/staging/src/k8s.io/endpointslice).
// Endpoints for which identity says the same are one, with the ports of all; one with two numbers
// for a port is in two batches, since a port is in a slice once. Endpoints without identity are
// left out.
func batches(s *topology.Service, identity func(*topology.Endpoint) (shared, bool)) (list []*batch) {
	type member struct {
		*topology.Endpoint
		ports []target
	}
	var members []*member
	found := map[shared][]*member{}
	for _, p := range portsOf(s) {
		for _, x := range p.Endpoints {
			k, in := identity(x)
			if !in {
				continue
			}
			i := slices.IndexFunc(found[k], func(m *member) bool { return m.ports[len(m.ports)-1].of != p })
			if i < 0 {
				i = len(found[k])
				m := &member{Endpoint: x}
				found[k], members = append(found[k], m), append(members, m)
			}
			found[k][i].ports = append(found[k][i].ports, target{p, x.Addr.Port()})
		}
	}
	of := map[string]*batch{}
	for _, m := range members {
		key := fmt.Append(nil, m.Addr.Addr().Is6())
		for _, t := range m.ports {
			key = fmt.Appendf(key, " %d %s/%s", t.number, t.of.Protocol, t.of.Name)
		}
		b := of[string(key)]
		if b == nil {
			b = &batch{six: m.Addr.Addr().Is6(), ports: slices.DeleteFunc(m.ports, func(t target) bool { return t.number == 0 })}
			of[string(key)], list = b, append(list, b)
		}
		b.endpoints = append(b.endpoints, m.Endpoint)
	}
	return list
}

// perSlice is how many endpoints a slice has at most (--max-endpoints-per-slice of
// kube-controller-manager; the API server refuses more than 1,000).
const perSlice = 100

// slices writes the endpoints of a service: slices per family and ports that they have.
func (e *exporter) slices(s *topology.Service, spec topology.ServiceSpec) {
	for _, x := range spec.Endpoints {
		if x.Weight.Set {
			e.lose(x.Weight.Origin, "weight of an endpoint of service %s: the API has none", s.Name)
		}
	}
	identity := func(x *topology.Endpoint) shared {
		if e.serves {
			return sharedOf(x, x.HostnameIn(s))
		}
		return sharedOf(x, x.Hostname)
	}
	number := 0
	for _, b := range batches(s, func(x *topology.Endpoint) (shared, bool) { return identity(x), true }) {
		var ports []tree
		for _, t := range b.ports {
			ports = append(ports, append(e.portName(t.of.Name), fields("port", int(t.number), "protocol", t.protocol())...))
		}
		for some := range slices.Chunk(b.endpoints, perSlice) {
			var list []tree
			for _, x := range some {
				k := identity(x)
				list = append(list, e.endpoints.of(k, func() tree { return e.endpoint(x, k.hostname) }))
			}
			number++
			e.object("discovery.k8s.io/v1", "EndpointSlice", append(e.inNamespace(fmt.Sprintf("%s-%d", s.Name, number), s.Namespace, e.sliceLabels(s)), e.ownedBy(s)...),
				"addressType", familyOf(b.six), "endpoints", list, "ports", ports)
		}
	}
}

// legacy writes the Endpoints of a service, which came before slices: addresses of its first
// family, together where they have the same ports (RepackSubsets in pkg/api/v1/endpoints).
// Whatever terminates is in none.
func (e *exporter) legacy(s *topology.Service) {
	if s.Type == topology.ExternalName {
		return
	}
	six := len(e.families) > 0 && e.families[0] == familyOf(true)
	if len(s.ClusterIPs) > 0 {
		six = s.ClusterIPs[0].Is6()
	}
	var list []tree
	for _, b := range batches(s, func(x *topology.Endpoint) (shared, bool) {
		k := shared{addr: x.Addr.Addr(), pod: x.Pod, hostname: x.HostnameIn(s), node: x.Node, ready: x.Ready}
		return k, k.addr.Is6() == six && !x.Terminating
	}) {
		var ports, ready, notReady []tree
		for _, t := range b.ports {
			ports = append(ports, fields("name", t.of.Name, "port", int(t.number), "protocol", t.protocol()))
		}
		for _, x := range b.endpoints {
			address := fields("ip", x.Addr.Addr().String(), "hostname", x.HostnameIn(s), "nodeName", x.Node)
			if x.Pod != nil {
				address = append(address, field{"targetRef", fields("kind", "Pod", "name", x.Pod.Name, "namespace", x.Pod.Namespace)})
			}
			if x.Ready {
				ready = append(ready, address)
			} else {
				notReady = append(notReady, address)
			}
		}
		list = append(list, fields("addresses", ready, "notReadyAddresses", notReady, "ports", ports))
	}
	e.object("v1", "Endpoints", e.inNamespace(s.Name, s.Namespace, s.Labels), "subsets", list)
}

// portsOf are the ports of a service, or what stands for them where it has none: an endpoint is
// there without a port, too.
func portsOf(s *topology.Service) []*topology.ServicePort {
	if len(s.Ports) == 0 && len(s.Portless) > 0 {
		return []*topology.ServicePort{{Endpoints: s.Portless}}
	}
	return s.Ports
}

// classes writes the classes of ingresses: the controller of a lab serves all of them.
func (e *exporter) classes(lab *topology.Lab) {
	written := map[string]bool{}
	for _, x := range lab.Ingresses {
		if x.Class != "" && !written[x.Class] {
			written[x.Class] = true
			e.object("networking.k8s.io/v1", "IngressClass", fields("name", x.Class), "spec", fields("controller", "netlab/ingress"))
		}
	}
}
