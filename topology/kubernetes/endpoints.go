package kubernetes

import (
	"strings"

	"github.com/netlab/netlab/topology"
)

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
	type subset struct {
		ports           []tree
		ready, notReady []tree
	}
	var addresses []shared
	ports := map[shared][]tree{}
	for _, p := range portsOf(s) {
		for _, x := range p.Endpoints {
			if x.Addr.Addr().Is6() != six || x.Terminating {
				continue
			}
			k := shared{addr: x.Addr.Addr(), pod: x.Pod, hostname: x.HostnameIn(s), node: x.Node, ready: x.Ready}
			if _, seen := ports[k]; !seen {
				addresses, ports[k] = append(addresses, k), nil
			}
			if n := x.Addr.Port(); n != 0 {
				ports[k] = append(ports[k], fields("name", p.Name, "port", int(n), "protocol", strings.ToUpper(string(p.Protocol))))
			}
		}
	}
	var subsets []*subset
	found := map[string]*subset{}
	for _, k := range addresses {
		var text []byte
		for _, p := range ports[k] {
			text = p.appendJSON(text)
		}
		of := found[string(text)]
		if of == nil {
			of = &subset{ports: ports[k]}
			found[string(text)], subsets = of, append(subsets, of)
		}
		address := fields("ip", k.addr.String(), "hostname", k.hostname, "nodeName", k.node)
		if k.pod != nil {
			address = append(address, field{"targetRef", fields("kind", "Pod", "name", k.pod.Name, "namespace", k.pod.Namespace)})
		}
		if k.ready {
			of.ready = append(of.ready, address)
		} else {
			of.notReady = append(of.notReady, address)
		}
	}
	var list []tree
	for _, x := range subsets {
		list = append(list, fields("addresses", x.ready, "notReadyAddresses", x.notReady, "ports", x.ports))
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
