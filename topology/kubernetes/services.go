package kubernetes

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/netlab/netlab/topology"
)

// serviceLabel names the service of an EndpointSlice.
const serviceLabel = "kubernetes.io/service-name"

// services adds services, with the endpoints of those without selector.
func (c *converter) services() {
	twice := several(c.svc, func(s *serviceObject) string { return s.Meta.Name.Value })
	for _, x := range c.svc {
		name := x.Meta.Name.Value
		label := c.label("service", x.namespace(), name, twice[name])
		c.carried(&x.header, "service."+label)
		if o := x.Spec.AllocateNodePorts; o.Set && !o.Value {
			c.lose("service."+label, o.Origin, "spec.allocateLoadBalancerNodePorts: services of type LoadBalancer always have node ports")
		}
		s := c.service(x)
		s.Name, s.Written, s.Namespace, s.Origin = name, written(label, &x.header), unless(x.Meta.Namespace, topology.DefaultNamespace), x.at()
		if s.Selector == nil {
			c.endpoints(&s, x)
		}
		c.unnamed(&s)
		c.Services = append(c.Services, s)
	}
	c.orphans()
}

func (c *converter) service(x *serviceObject) topology.ServiceSpec {
	v := &x.Spec
	s := topology.ServiceSpec{
		Labels: x.Meta.Labels, Type: unless(v.Type, "ClusterIP"), ClusterIP: v.ClusterIP,
		ExternalIPs: c.addresses(v.ExternalIPs), ExternalName: v.ExternalName, HealthCheckNodePort: unless(v.HealthCheckNodePort, 0),
		ExternalTrafficPolicy: unless(v.ExternalTrafficPolicy, "Cluster"), InternalTrafficPolicy: unless(v.InternalTrafficPolicy, "Cluster"),
		IPFamilies: listed(v.IPFamilies), IPFamilyPolicy: v.IPFamilyPolicy, SourceRanges: listed(v.SourceRanges),
		SessionAffinity: unless(v.SessionAffinity, "None"), AffinitySeconds: v.AffinityConfig.ClientIP.Seconds,
		TrafficDistribution: v.TrafficDistribution, PublishNotReadyAddresses: unless(v.PublishNotReady, false),
	}
	if len(v.Selector) > 0 {
		s.Selector, s.SelectorOrigin = v.Selector, v.Origin
	}
	if len(v.ClusterIPs) > 1 {
		s.ClusterIP, s.ClusterIPs = str{}, listed(v.ClusterIPs)
	} else if len(v.ClusterIPs) == 1 && !s.ClusterIP.Set {
		s.ClusterIP = v.ClusterIPs[0]
	}
	s.ClusterIP = unless(s.ClusterIP, "")
	if s.IPFamilyPolicy.Value == "SingleStack" && slices.Equal(s.IPFamilies.Value, []string{"IPv4"}) {
		s.IPFamilyPolicy, s.IPFamilies = str{}, topology.Opt[[]string]{} // as the API server fills them in
	}
	balancers := []str{v.LoadBalancerIP}
	if !v.LoadBalancerIP.Set {
		balancers = nil
		for _, in := range x.Status.LoadBalancer.Ingress {
			if in.IP.Set {
				balancers = append(balancers, in.IP)
			}
			s.LoadBalancerMode = cmp.Or(unless(in.IPMode, "VIP"), s.LoadBalancerMode)
		}
	}
	s.LoadBalancerIPs = c.addresses(balancers)
	for _, p := range v.Ports {
		s.Ports = append(s.Ports, topology.ServicePortSpec{
			Name: p.Name.Value, Port: p.Port, TargetPort: unless(topology.Opt[string](p.TargetPort), strconv.Itoa(p.Port.Value)),
			NodePort: unless(p.NodePort, 0), Protocol: c.protocol(p.Protocol), Origin: p.Origin,
		})
	}
	return s
}

// unnamed lets ports name what no selected pod has: a cluster takes them, without endpoints.
func (c *converter) unnamed(s *topology.ServiceSpec) {
	for i := range s.Ports {
		sp := &s.Ports[i]
		name := sp.TargetPort
		if _, err := strconv.Atoi(name.Value); !name.Set || err == nil || s.Selector == nil {
			continue
		}
		selected, known := false, []string{}
		for _, p := range c.Pods {
			if p.Namespace.Or(topology.DefaultNamespace) != s.Namespace.Or(topology.DefaultNamespace) || !selects(s.Selector, p.Labels) {
				continue
			}
			selected = true
			for _, o := range p.Ports {
				if o.Protocol.Or("tcp") == sp.Protocol.Or("tcp") {
					known = append(known, o.Name)
				}
			}
		}
		if !selected || slices.Contains(known, name.Value) {
			continue
		}
		sp.Required = flag{Set: true, Origin: name.Origin}
		why := fmt.Sprintf("none of the pods that it selects has a %s port named %q, so its port %d has no endpoints", sp.Protocol.Or("tcp"), shorten(name.Value), sp.Port.Value)
		c.Notes = append(c.Notes, Lost{Block: "service." + s.Written.Block, Why: why, Origin: name.Origin})
		c.Problems = append(c.Problems, topology.Problem{Summary: "No pod has that port", Origin: name.Origin, Warning: true,
			Detail: fmt.Sprintf("Service %q: %s.%s Name a port of the pods, or leave it if you want no endpoints.", s.Name, why, topology.DidYouMean(name.Value, known))})
	}
}

// addresses are addresses as an attribute.
func (c *converter) addresses(list []str) (out topology.Opt[[]netip.Addr]) {
	for _, a := range list {
		addr, err := netip.ParseAddr(a.Value)
		if err != nil {
			c.errorf(a.Origin, "Invalid address", "%q is not an IP address. Write one, such as 192.0.2.1.", shorten(a.Value))
			continue
		}
		out.Value, out.Set = append(out.Value, addr), true
		out.Origin = cmp.Or(out.Origin, a.Origin)
	}
	return out
}

// endpoints adds those of a service without selector: of its slices, else of its Endpoints.
func (c *converter) endpoints(s *topology.ServiceSpec, x *serviceObject) {
	found := false
	for _, slice := range c.slice {
		if slice.namespace() != x.namespace() || slice.Meta.Labels[serviceLabel] != s.Name {
			continue
		}
		found = true
		if slice.Type.Value == "FQDN" {
			c.lose("service."+s.Written.Block, slice.at(), "EndpointSlice %s: its endpoints are names, which no proxy sends connections to", lineOf(slice.Meta.Name.Value))
			continue
		}
		for _, e := range slice.Endpoints {
			base := topology.EndpointSpec{Node: e.Node, Hostname: unless(e.Hostname, ""), Ready: e.Conditions.Ready, Serving: e.Conditions.Serving, Terminating: e.Conditions.Terminating, Origin: e.Origin}
			base.ForZones, base.ForNodes = hints(e.Hints.ForZones), hints(e.Hints.ForNodes)
			for _, a := range e.Addresses {
				c.endpoint(s, base, a, e.Target, slice.Ports)
			}
		}
	}
	for _, e := range c.ends {
		if found || e.namespace() != x.namespace() || e.Meta.Name.Value != s.Name {
			continue
		}
		for _, sub := range e.Subsets {
			for i, list := range [][]endpointAddress{sub.Addresses, sub.NotReady} {
				for _, a := range list {
					base := topology.EndpointSpec{Node: a.Node, Hostname: unless(a.Hostname, ""), Origin: a.Origin}
					if i == 1 {
						base.Ready = flag{Set: true, Origin: a.Origin}
					}
					c.endpoint(s, base, a.IP, a.Target, sub.Ports)
				}
			}
		}
	}
}

func hints(list []named) topology.Opt[[]string] {
	var out []str
	for _, n := range list {
		out = append(out, n.Name)
	}
	return listed(out)
}

// shortest is an endpoint that writes no more of its state than it must. What an object does not
// say: an endpoint is ready, serves if it is ready, and does not terminate (EndpointConditions of
// discovery.k8s.io/v1).
func shortest(e topology.EndpointSpec, ready, serving, terminating, publish bool) topology.EndpointSpec {
	wants := [3]bool{e.Ready.Or(true), e.Serving.Or(e.Ready.Or(true)), e.Terminating.Or(false)}
	written := func(o flag, value, yes bool) flag {
		if !yes {
			return flag{}
		}
		return flag{Value: value, Set: true, Origin: cmp.Or(o.Origin, e.Origin)}
	}
	for _, parts := range []int{0, 1, 2, 4, 3, 5, 6, 7} {
		x := e
		x.Ready, x.Serving, x.Terminating = written(e.Ready, wants[0], parts&1 != 0), written(e.Serving, wants[1], parts&2 != 0), written(e.Terminating, wants[2], parts&4 != 0)
		var has [3]bool
		if has[0], has[1], has[2] = x.State(ready, serving, terminating, publish); has == wants {
			return x
		}
	}
	return e
}

// endpoint adds an address, or the pod that it is, once for all ports of the service if it has
// those that the service wants, else once per port.
func (c *converter) endpoint(s *topology.ServiceSpec, base topology.EndpointSpec, a str, target *reference, ports []endpointPort) {
	pod := ""
	if target != nil && target.Kind.Value == "Pod" {
		pod = target.Namespace.Or(s.Namespace.Or(topology.DefaultNamespace)) + "/" + dashed(target.Name.Value)
	}
	i := slices.IndexFunc(c.Pods, func(p topology.PodSpec) bool {
		return pod != "" && p.Namespace.Or(topology.DefaultNamespace)+"/"+p.Name() == pod
	})
	ready, serving, terminating := true, true, false // as its pod says
	if i >= 0 {
		p := c.Pods[i]
		serving, terminating = p.Ready.Or(true), p.Terminating.Value
		ready = serving && !terminating || s.PublishNotReadyAddresses.Value
	}
	base = shortest(base, ready, serving, terminating, s.PublishNotReadyAddresses.Value)
	if i >= 0 {
		base.Pod, base.Node = str{Value: pod, Set: true, Origin: target.Name.Origin}, str{}
	} else {
		addr, err := netip.ParseAddr(a.Value)
		if err != nil {
			c.errorf(a.Origin, "Invalid address", "%q is not an IP address. Write one, such as 192.0.2.1.", shorten(a.Value))
			return
		}
		base.Address = topology.Opt[netip.Addr]{Value: addr, Set: true, Origin: a.Origin}
		base.Node.Value = dashed(base.Node.Value)
		if base.Node.Set && !slices.ContainsFunc(c.homes, func(n topology.NodeSpec) bool { return n.Name == base.Node.Value }) {
			base.Node = str{}
		}
	}
	same := len(ports) == 0 || len(ports) == len(s.Ports)
	for _, p := range ports {
		k := slices.IndexFunc(s.Ports, func(sp topology.ServicePortSpec) bool { return sp.Name == p.Name.Value })
		same = same && k >= 0 && s.Ports[k].TargetPort.Or(strconv.Itoa(s.Ports[k].Port.Value)) == strconv.Itoa(p.Port.Value)
	}
	if same {
		addEndpoint(s, base)
		return
	}
	for _, p := range ports {
		e := base
		e.Port = p.Port
		if len(s.Ports) > 1 {
			e.PortName = str{Value: p.Name.Value, Set: true, Origin: p.Name.Origin}
		}
		addEndpoint(s, e)
	}
}

// addEndpoint adds one, unless it is a pod that is there already: of two families a pod is in a slice
// each.
func addEndpoint(s *topology.ServiceSpec, e topology.EndpointSpec) {
	if !e.Pod.Set || !slices.ContainsFunc(s.Endpoints, func(x topology.EndpointSpec) bool { return sameEndpoint(x, e) }) {
		s.Endpoints = append(s.Endpoints, e)
	}
}

// sameEndpoint reports whether two endpoints differ at most in where they are written.
func sameEndpoint(a, b topology.EndpointSpec) bool {
	same := func(a, b flag) bool { return a.Set == b.Set && a.Value == b.Value }
	return a.Pod.Value == b.Pod.Value && a.Hostname.Value == b.Hostname.Value && a.Port.Value == b.Port.Value && a.PortName.Value == b.PortName.Value &&
		same(a.Ready, b.Ready) && same(a.Serving, b.Serving) && same(a.Terminating, b.Terminating) &&
		slices.Equal(a.ForZones.Value, b.ForZones.Value) && slices.Equal(a.ForNodes.Value, b.ForNodes.Value)
}

// orphans are endpoints that no service has.
func (c *converter) orphans() {
	has := map[string]bool{}
	for _, s := range c.svc {
		has[s.namespace()+"/"+s.Meta.Name.Value] = true
	}
	for _, e := range c.slice {
		if name := e.Meta.Labels[serviceLabel]; !has[e.namespace()+"/"+name] {
			c.lose("", e.at(), "EndpointSlice %s: there is no service %q in namespace %s, which its label %s names", lineOf(e.Meta.Name.Value), lineOf(name), lineOf(e.namespace()), serviceLabel)
		}
	}
	for _, e := range c.ends {
		if !has[e.namespace()+"/"+e.Meta.Name.Value] {
			c.lose("", e.at(), "Endpoints %s: there is no service of that name in namespace %s", lineOf(e.Meta.Name.Value), lineOf(e.namespace()))
		}
	}
}

// listeners gives pods that declare no port those to which services send them connections:
// Kubernetes does not need the declaration, and an agent has to listen somewhere.
func (c *converter) listeners() {
	of := map[string][]*topology.ServiceSpec{}
	for i := range c.Services {
		s := &c.Services[i]
		ns := s.Namespace.Or(topology.DefaultNamespace)
		of[ns] = append(of[ns], s)
	}
	noted := map[string]bool{}
	for i := range c.Pods {
		p := &c.Pods[i]
		if len(p.Ports) > 0 {
			continue
		}
		for _, s := range of[p.Namespace.Or(topology.DefaultNamespace)] {
			if s.Selector == nil || !selects(s.Selector, p.Labels) {
				continue
			}
			for _, sp := range s.Ports {
				n, err := strconv.Atoi(sp.TargetPort.Or(strconv.Itoa(sp.Port.Value)))
				x := topology.PortSpec{Port: integer{Value: n, Set: true, Origin: sp.Origin}, Protocol: sp.Protocol, Origin: sp.Origin}
				x.Name = portName(x)
				if err != nil || slices.ContainsFunc(p.Ports, func(o topology.PortSpec) bool { return o.Name == x.Name }) {
					continue
				}
				p.Ports = append(p.Ports, x)
				if note := fmt.Sprintf("%s/%s", p.Block, s.Name); !noted[note] {
					noted[note] = true
					c.Notes = append(c.Notes, Lost{Block: "pod." + p.Block, Why: fmt.Sprintf("its containers declare no port: service %s sends connections here", s.Name), Origin: sp.Origin})
				}
			}
		}
	}
}

func selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if have, ok := labels[k]; !ok || have != v {
			return false
		}
	}
	return true
}
