package services

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// The labels that make kube-proxy leave a service to another proxy (the informer
// filter of cmd/kube-proxy/app/server.go). Their values do not matter.
const (
	proxyNameLabel = "service.kubernetes.io/service-proxy-name"
	headlessLabel  = "service.kubernetes.io/headless"
)

// resolver resolves services in a draft.
type resolver struct{ *draft.Draft }

// resolving is a service with its spec.
type resolving struct {
	*topology.Service
	spec     topology.ServiceSpec
	headless bool
	six      []bool // the families of the service, the first one first: IPv6 or not
	// broken says that the type is invalid: attributes that depend on it are then not
	// reported.
	broken bool
}

func (s *resolving) who() string { return fmt.Sprintf("service %q", s.Name) }

// external reports whether the service is reached from outside the cluster:
// externallyAccessible in kubernetes/pkg/apis/core/validation.
func (s *resolving) external() bool {
	return s.Type == topology.NodePort || s.Type == topology.LoadBalancer || len(s.spec.ExternalIPs.Value) > 0 && s.Type != topology.ExternalName
}

// hasNodePorts reports whether the ports of the service get node ports.
func (s *resolving) hasNodePorts() bool {
	return s.Type == topology.NodePort || s.Type == topology.LoadBalancer
}

// Resolve resolves the services of a lab whose nodes and pods are resolved.
func Resolve(d *draft.Draft) {
	r := &resolver{d}
	seen := map[string]topology.Origin{}
	var all []*resolving
	for _, spec := range r.Spec.Services {
		r.Of("service", spec.Written.Block, spec.Written.Key)
		named := cmp.Or(spec.Written.Named, spec.Origin)
		sv := &topology.Service{
			Name: spec.Name, Written: spec.Written, Namespace: r.Namespace(spec.Namespace), Labels: draft.Labels(spec.Labels),
			Selector: maps.Clone(spec.Selector), Origin: spec.Origin,
		}
		r.CheckName("service", spec.Name, named)
		name := sv.Name
		if sv.Namespace != topology.DefaultNamespace {
			name = sv.Namespace + "/" + name
		}
		if !r.Unique(seen, "service", name, named) {
			continue
		}
		s := &resolving{Service: sv, spec: spec}
		r.resolveService(s)
		all = append(all, s)
		r.Lab.Services = append(r.Lab.Services, sv)
	}
	r.Of("service", "", "")
	r.clusterIPs(all)
	r.nodePorts(all)
	r.proxyPorts(all)
	r.loadBalancers(all)
	r.balancerPorts(all)
	for _, s := range all {
		r.via(s)
	}
	r.hostPortsOfServices()
}

// resolveService resolves what does not depend on other services.
func (r *resolver) resolveService(s *resolving) {
	known := []string{string(topology.ClusterIP), string(topology.NodePort), string(topology.LoadBalancer), string(topology.ExternalName)}
	s.broken = s.spec.Type.Set && !slices.Contains(known, s.spec.Type.Value)
	s.Type = topology.ServiceType(r.Enum(s.spec.Type, "service type", string(topology.ClusterIP), known, nil))
	_, named := s.Labels[proxyNameLabel]
	_, headless := s.Labels[headlessLabel]
	s.Unmanaged = named || headless
	r.externalName(s)
	r.serviceFamilies(s)
	r.policies(s)
	r.affinity(s)
	r.distribution(s)
	r.externalIPs(s)
	r.sourceRanges(s)
	s.PublishNotReadyAddresses = s.spec.PublishNotReadyAddresses.Value
	r.checkEndpointBlocks(s)
	r.servicePorts(s)
	r.checkSelector(s.Service, s.spec)
}

// externalName checks an alias: it has a name and nothing that packets need.
func (r *resolver) externalName(s *resolving) {
	name := s.spec.ExternalName
	if s.Type != topology.ExternalName {
		if name.Set && !s.broken {
			r.Errorf(draft.At(name.Origin), "External name without ExternalName",
				"external_name is only meaningful when type is \"ExternalName\". Use that type, or remove it.")
		}
		return
	}
	switch s.ExternalName = name.Value; {
	case !name.Set && name.Origin != (topology.Origin{}): // reported by the reader
	case name.Value == "" || name.Value == ".":
		r.Errorf(draft.At(name.Origin, s.Origin), "Missing external name",
			"external_name is required when type is \"ExternalName\". Add external_name = \"db.example.com\".")
	case !draft.IsDNSSubdomain(name.Value):
		r.Errorf(draft.At(name.Origin), "Invalid external name",
			"external_name %q is not a DNS name: labels of a-z, 0-9 and \"-\", joined by dots, up to 253 characters. Use one such as \"db.example.com\".",
			draft.Shorten(name.Value))
	}
	refuse := func(o topology.Origin, set bool, attribute string) {
		if set {
			r.Errorf(draft.At(o, s.Origin), "Alias with addresses",
				"%s may not be set for ExternalName services, which are only an alias of a name. Remove it.", attribute)
		}
	}
	refuse(s.spec.ClusterIP.Origin, s.spec.ClusterIP.Set, "cluster_ip")
	refuse(s.spec.ClusterIPs.Origin, s.spec.ClusterIPs.Set, "cluster_ips")
	refuse(s.spec.IPFamilies.Origin, s.spec.IPFamilies.Set, "ip_families")
	refuse(s.spec.IPFamilyPolicy.Origin, s.spec.IPFamilyPolicy.Set, "ip_family_policy")
	refuse(s.spec.SelectorOrigin, s.spec.Selector != nil, "selector")
	refuse(s.spec.ExternalIPs.Origin, s.spec.ExternalIPs.Set, "external_ips")
	if len(s.spec.Endpoints) > 0 {
		refuse(s.spec.Endpoints[0].Origin, true, "endpoint")
	}
	for _, p := range s.spec.Ports {
		refuse(p.TargetPort.Origin, p.TargetPort.Set, "target_port")
		refuse(p.NodePort.Origin, p.NodePort.Set, "node_port")
	}
}

// numberKey is what must be unique among the ports of a service, and among node ports.
type numberKey struct {
	protocol topology.Protocol
	port     uint16
}

func (r *resolver) servicePorts(s *resolving) {
	if len(s.spec.Ports) == 0 && !s.headless && s.Type != topology.ExternalName && !s.broken {
		r.Errorf(draft.At(s.Origin), "Service without ports", "Service %q has no port, so no client can connect to it. Add port \"http\" { port = 80 }.", s.Name)
	}
	if len(s.spec.Ports) == 0 && s.headless {
		s.Portless = r.portless(s)
	}
	names := map[string]topology.Origin{}
	numbers := map[numberKey]string{}
	for _, ps := range s.spec.Ports {
		switch {
		case ps.Name != "":
			r.CheckName("port", ps.Name, ps.Origin)
		case len(s.spec.Ports) > 1:
			r.Errorf(draft.At(ps.Origin, s.Origin), "Port without name",
				"A name is required for every port when a service has several. Write port \"http\" { … }.")
			continue
		}
		if r.Unique(names, "port", ps.Name, ps.Origin) {
			r.servicePort(s, ps, numbers)
		}
	}
}

func (r *resolver) servicePort(s *resolving, ps topology.ServicePortSpec, numbers map[numberKey]string) {
	p := &topology.ServicePort{Name: ps.Name, Protocol: r.Protocol(ps.Protocol), Origin: ps.Origin}
	p.Port = r.Port(ps.Port, "port "+strconv.Quote(ps.Name)+" of "+s.who(), draft.At(ps.Origin, s.Origin))
	if p.Port == 0 {
		return
	}
	key := numberKey{p.Protocol, p.Port}
	if first, ok := numbers[key]; ok {
		r.Errorf(draft.At(ps.Port.Origin, ps.Origin), "Port taken twice",
			"The ports %q and %q of service %q are both %s port %d. Use different numbers.", first, ps.Name, s.Name, p.Protocol, p.Port)
		return
	}
	numbers[key] = ps.Name
	if ps.NodePort.Set && s.Type == topology.ClusterIP && !s.broken {
		r.Errorf(draft.At(ps.NodePort.Origin), "Node port without NodePort",
			"node_port may not be used when type is \"ClusterIP\". Use type = \"NodePort\", or remove it.")
	}
	if s.Type == topology.LoadBalancer && p.Port == kubeletPort {
		r.Errorf(draft.At(ps.Port.Origin), "Port of the kubelet",
			"A load balancer may not expose port %d externally, since it is used by kubelet. Use another number.", kubeletPort)
	}
	p.TargetPort = ps.TargetPort.Or(strconv.Itoa(int(p.Port)))
	if s.Type != topology.ExternalName {
		r.endpoints(s, p, ps)
	}
	s.Ports = append(s.Ports, p)
}

// kubeletPort is the port that no load balancer may expose
// (kubernetes/pkg/apis/core/validation, ValidateService).
const kubeletPort = 10250

// portNamed is the port of that name as it was written first.
func portNamed(s topology.ServiceSpec, name string) topology.ServicePortSpec {
	return topology.First(s.Ports, func(p topology.ServicePortSpec) bool { return p.Name == name })
}
