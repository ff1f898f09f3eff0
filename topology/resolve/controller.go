package resolve

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

const (
	maxControllers = 100
	// controllerIndex puts the pods behind all others: whether there are any is known only when
	// the others have addresses, which they keep.
	controllerIndex = 1 << 20
	// controllerApp is the label of the pods.
	controllerApp = "app.kubernetes.io/name"
	// controllerBlock is before the labels of blocks that nobody wrote.
	controllerBlock = "/" + topology.IngressNamespace + "/"
)

// addController adds the pods and the service of the ingress controller to what is written, if
// there is an ingress, a route or the block for it. From then on they are objects as all others.
func (r *resolver) addController() {
	c := r.Spec.Controller
	o := c.Origin
	if !c.Written {
		switch {
		case len(r.Spec.Ingresses) > 0:
			o = r.Spec.Ingresses[0].Origin
		case len(r.Spec.Gateways) > 0:
			o = r.Spec.Gateways[0].Origin
		case len(r.Spec.HTTPRoutes) > 0:
			o = r.Spec.HTTPRoutes[0].Origin
		default:
			return
		}
	}
	r.Lab.Controller = &topology.Controller{ProxyProtocol: c.ProxyProtocol.Value, Origin: o}
	if mode := r.Lab.Network.Mode; mode.SharedCIDR {
		r.Errorf(draft.At(o), "Ingress without services",
			"An ingress controller is reached through a service, and there are no services in network mode %q. Remove the ingress, or use another mode.", mode.Name)
		return
	}
	r.reserveController(o)
	spec := *r.Spec // what the caller has stays as it is
	r.Spec = &spec
	if !slices.ContainsFunc(spec.Namespaces, func(n topology.NamespaceSpec) bool { return n.Name == topology.IngressNamespace }) {
		spec.Namespaces = append(slices.Clip(spec.Namespaces), topology.NamespaceSpec{Name: topology.IngressNamespace, Written: topology.Written{Block: controllerBlock}, Origin: o})
	}
	here := topology.Opt[string]{Value: topology.IngressNamespace, Set: true, Origin: o}
	labels := map[string]string{controllerApp: topology.IngressService}
	spec.Pods = slices.Clip(spec.Pods)
	for i, node := range r.controllerNodes(c) {
		spec.Pods = append(spec.Pods, topology.PodSpec{
			Block: controllerBlock + topology.IngressPod, Key: strconv.Itoa(i), Index: controllerIndex + i, Namespace: here, Labels: labels, Origin: o, Node: node, HostNetwork: c.HostNetwork,
			Named: topology.Opt[string]{Value: topology.NameOf(topology.IngressPod, strconv.Itoa(i)), Set: true, Origin: o},
			Ports: []topology.PortSpec{
				{Name: "http", Port: topology.Opt[int]{Value: topology.IngressHTTP, Set: true, Origin: o}, Origin: o},
				{Name: "https", Port: topology.Opt[int]{Value: topology.IngressHTTPS, Set: true, Origin: o}, Origin: o},
			},
		})
	}
	spec.Services = append(slices.Clip(spec.Services), controllerService(c.Service, labels, here))
}

// controllerNodes are the nodes of the controller's pods; one that is not set is the next in turn.
func (r *resolver) controllerNodes(c topology.ControllerSpec) []topology.Opt[string] {
	if !c.Nodes.Set {
		return make([]topology.Opt[string], r.Number(c.Replicas, "number of replicas", 1, 1, maxControllers))
	}
	if c.Replicas.Set {
		r.Errorf(draft.At(c.Replicas.Origin), "Replicas and nodes", "There is one controller on each of nodes. Remove replicas, or nodes.")
	}
	if len(c.Nodes.Value) == 0 {
		r.Errorf(draft.At(c.Nodes.Origin), "Empty list", "nodes is an empty list, so there would be no controller. Name a node, or remove it.")
	}
	var nodes []topology.Opt[string]
	for _, n := range c.Nodes.Value {
		nodes = append(nodes, topology.Opt[string]{Value: n, Set: true, Origin: c.Nodes.Origin})
	}
	return nodes
}

// controllerService is the service before the controller: as its block says, a load balancer
// without one.
func controllerService(s topology.ServiceSpec, labels map[string]string, here topology.Opt[string]) topology.ServiceSpec {
	o := cmp.Or(s.Origin, here.Origin)
	s.Name, s.Written = topology.IngressService, topology.Written{Block: controllerBlock + topology.IngressService}
	s.Namespace, s.Labels, s.Selector, s.SelectorOrigin, s.Origin = here, labels, labels, o, o
	if !s.Type.Set && s.Type.Origin == (topology.Origin{}) {
		s.Type = topology.Opt[string]{Value: string(topology.LoadBalancer), Set: true, Origin: o}
	}
	if !s.IPFamilyPolicy.Set && !s.IPFamilies.Set && !s.ClusterIPs.Set && !s.ClusterIP.Set {
		s.IPFamilyPolicy = topology.Opt[string]{Value: "PreferDualStack", Set: true, Origin: o}
	}
	var ports []topology.ServicePortSpec
	for _, p := range []struct {
		name   string
		number int
	}{{"http", topology.IngressHTTP}, {"https", topology.IngressHTTPS}} {
		port := topology.ServicePortSpec{Name: p.name, Origin: o}
		if i := slices.IndexFunc(s.Ports, func(w topology.ServicePortSpec) bool { return w.Name == p.name }); i >= 0 {
			port = s.Ports[i]
		}
		if !port.Port.Set && port.Port.Origin == (topology.Origin{}) {
			port.Port = topology.Opt[int]{Value: p.number, Set: true, Origin: o}
		}
		port.TargetPort = topology.Opt[string]{Value: p.name, Set: true, Origin: o}
		ports = append(ports, port)
	}
	s.Ports = ports
	return s
}

// isController reports whether a pod is one that addController added.
func isController(p *topology.Pod) bool {
	return p.Namespace == topology.IngressNamespace && p.Block == controllerBlock+topology.IngressPod
}

// reserveController reports objects that have the names of those that addController makes, and
// takes them out.
func (r *resolver) reserveController(o topology.Origin) {
	refuse := func(kind, name string, at topology.Origin) {
		r.Errorf(draft.At(at), "Name of the ingress controller", "The ingress controller, declared %s, is the %s %q of namespace %s. Rename this one.",
			o.SeenFrom(at), kind, name, topology.IngressNamespace)
	}
	spec := *r.Spec
	mine := func(ns topology.Opt[string]) bool { return ns.Value == topology.IngressNamespace }
	spec.Services = slices.DeleteFunc(slices.Clone(spec.Services), func(s topology.ServiceSpec) bool {
		taken := s.Name == topology.IngressService && mine(s.Namespace)
		if taken {
			refuse("service", s.Name, cmp.Or(s.Written.Named, s.Origin))
		}
		return taken
	})
	spec.Pods = slices.DeleteFunc(slices.Clone(spec.Pods), func(p topology.PodSpec) bool {
		n, numbered := strings.CutPrefix(p.Name(), topology.IngressPod+"-")
		_, err := strconv.ParseUint(n, 10, 16)
		taken := numbered && err == nil && mine(p.Namespace)
		if taken {
			refuse("pod", p.Name(), cmp.Or(p.Named.Origin, p.Origin))
		}
		return taken
	})
	r.Spec = &spec
}
