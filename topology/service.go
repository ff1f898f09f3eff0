package topology

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
)

// skippedClusterIPs are the first addresses of the service CIDR, which are left to
// those who pick by hand: 10.96.0.1 and 10.96.0.10 have an owner in every cluster.
const skippedClusterIPs = 10

func (r *resolver) resolveServices() {
	seen := map[string]Origin{}
	specs := map[*Service]ServiceSpec{}
	for _, s := range r.spec.Services {
		sv := &Service{Name: s.Name, Namespace: r.namespace(s.Namespace), Selector: maps.Clone(s.Selector), Origin: s.Origin}
		r.checkName("service", s.Name, s.Origin)
		name := sv.Name
		if sv.Namespace != DefaultNamespace {
			name = sv.Namespace + "/" + name
		}
		if !r.unique(seen, "service", name, s.Origin) {
			continue
		}
		sv.Type = ServiceType(r.enum(s.Type, "service type", string(ClusterIP),
			[]string{string(ClusterIP), string(NodePort)}, []string{"LoadBalancer", "ExternalName"}))
		r.policies(sv, s)
		r.servicePorts(sv, s)
		r.checkSelector(sv, s)
		specs[sv] = s
		r.lab.Services = append(r.lab.Services, sv)
	}
	r.clusterIPs(specs)
	r.nodePorts(specs)
}

func (r *resolver) policies(sv *Service, s ServiceSpec) {
	known := []string{string(PolicyCluster), string(PolicyLocal)}
	sv.ExternalTrafficPolicy = TrafficPolicy(r.enum(s.ExternalTrafficPolicy, "traffic policy", string(PolicyCluster), known, nil))
	sv.InternalTrafficPolicy = TrafficPolicy(r.enum(s.InternalTrafficPolicy, "traffic policy", string(PolicyCluster), known, nil))
	if sv.Type == ClusterIP && s.ExternalTrafficPolicy.Set && !s.unusableType() {
		// The Kubernetes API rejects it for the same reason.
		r.errorf(at(s.ExternalTrafficPolicy.Origin), "External policy without external traffic",
			"external_traffic_policy may only be set for externally-accessible services. Use type = \"NodePort\", or remove it.")
	}
}

// unusableType reports whether the type was a problem of its own: what else is
// written for that type is then none.
func (s ServiceSpec) unusableType() bool {
	return s.Type.Set && s.Type.Value != string(ClusterIP) && s.Type.Value != string(NodePort)
}

func (r *resolver) servicePorts(sv *Service, s ServiceSpec) {
	who := fmt.Sprintf("service %q", sv.Name)
	if len(s.Ports) == 0 && s.ClusterIP.Value != "None" && !s.unusableType() {
		r.errorf(at(s.Origin), "Service without ports", "Service %q has no port, so nobody can connect to it. Add port \"http\" { port = 80 }.", sv.Name)
	}
	names := map[string]Origin{}
	type number struct {
		protocol Protocol
		port     uint16
	}
	numbers := map[number]string{}
	for _, ps := range s.Ports {
		if ps.Name != "" {
			r.checkName("port", ps.Name, ps.Origin)
		}
		if !r.unique(names, "port", ps.Name, ps.Origin) {
			continue
		}
		p := &ServicePort{Name: ps.Name, Protocol: r.protocol(ps.Protocol), Origin: ps.Origin}
		p.Port = r.port(ps.Port, "port "+strconv.Quote(ps.Name)+" of "+who, at(ps.Origin, s.Origin))
		if p.Port == 0 {
			continue
		}
		key := number{p.Protocol, p.Port}
		if first, ok := numbers[key]; ok {
			r.errorf(at(ps.Port.Origin, ps.Origin), "Port taken twice",
				"The ports %q and %q of service %q are both %s port %d. Use different numbers.", first, ps.Name, sv.Name, p.Protocol, p.Port)
			continue
		}
		numbers[key] = ps.Name
		if ps.NodePort.Set && sv.Type == ClusterIP && !s.unusableType() {
			r.errorf(at(ps.NodePort.Origin), "Node port without NodePort",
				"node_port may not be used when type is \"ClusterIP\". Use type = \"NodePort\", or remove it.")
		}
		p.TargetPort = ps.TargetPort.Or(strconv.Itoa(int(p.Port)))
		r.endpoints(sv, p, ps)
		sv.Ports = append(sv.Ports, p)
	}
}

// clusterIPs gives every service that is not headless one address per family.
func (r *resolver) clusterIPs(specs map[*Service]ServiceSpec) {
	given := map[*Service]netip.Addr{}
	headless := map[*Service]bool{}
	for _, sv := range r.lab.Services {
		o := specs[sv].ClusterIP
		switch a, err := netip.ParseAddr(o.Value); {
		case !o.Set:
		case o.Value == "None":
			headless[sv] = true
			if sv.Type == NodePort {
				r.errorf(at(o.Origin), "Headless NodePort service",
					"cluster_ip may not be \"None\" when type is \"NodePort\". Use type = \"ClusterIP\", or remove cluster_ip.")
			}
		case err != nil:
			r.errorf(at(o.Origin), "Invalid address", "%q is not an IP address. Use an address of service_cidr, or \"None\".", shorten(o.Value))
		default:
			given[sv] = a
			r.addressFamily(Opt[netip.Addr]{a, true, o.Origin}, r.lab.Network.ServiceCIDRs, "service_cidr")
		}
	}
	for _, prefix := range r.lab.Network.ServiceCIDRs {
		pool := newAddrPool(prefix)
		for _, sv := range r.lab.Services {
			if a := given[sv]; sameFamily(a, prefix) {
				r.claim(pool, "service_cidr", Opt[netip.Addr]{a, true, specs[sv].ClusterIP.Origin}, fmt.Sprintf("service %q", sv.Name))
			}
		}
		w := window{min(skippedClusterIPs+1, pool.size/2), pool.size}
		for _, sv := range r.lab.Services {
			if headless[sv] {
				continue
			}
			a, ok := given[sv], true
			if !sameFamily(a, prefix) {
				a, ok = pool.assign("service/"+sv.Namespace+"/"+sv.Name, w, fmt.Sprintf("service %q", sv.Name))
			}
			if !ok {
				r.errorf(at(sv.Origin), "No cluster IP left",
					"service_cidr %s has no address left for service %q. Use a larger service_cidr.", prefix, sv.Name)
				continue
			}
			sv.ClusterIPs = append(sv.ClusterIPs, a)
		}
	}
}

// nodePorts gives every port of a NodePort service a node port: the written one,
// else a free number of the range.
func (r *resolver) nodePorts(specs map[*Service]ServiceSpec) {
	lo, hi := r.lab.Proxy.NodePortMin, r.lab.Proxy.NodePortMax
	numbers := newPool(uint64(hi - lo + 1))
	written := r.writtenNodePorts(specs, numbers)
	for _, sv := range r.lab.Services {
		if sv.Type != NodePort {
			continue
		}
		for _, p := range sv.Ports {
			if p.NodePort = written[p]; p.NodePort != 0 {
				continue
			}
			key := fmt.Sprintf("nodeport/%s/%s/%s/%s", sv.Namespace, sv.Name, p.Name, p.Protocol)
			slot, ok := numbers.take(key, numbers.all(), sv.Name)
			if !ok {
				r.errorf(at(p.Origin, sv.Origin), "No node port left",
					"The node port range %d-%d has no port left for service %q. Use a larger node_port_range.", lo, hi, sv.Name)
				continue
			}
			p.NodePort = uint16(lo + int(slot))
		}
	}
}

// writtenNodePorts checks the node ports that the scenario gives and takes them
// out of the pool. Two protocols may share a number.
func (r *resolver) writtenNodePorts(specs map[*Service]ServiceSpec, numbers *pool) map[*ServicePort]uint16 {
	lo, hi := r.lab.Proxy.NodePortMin, r.lab.Proxy.NodePortMax
	type key struct {
		number   int
		protocol Protocol
	}
	owners := map[key]string{}
	out := map[*ServicePort]uint16{}
	for _, sv := range r.lab.Services {
		for _, p := range sv.Ports {
			o := specs[sv].portNamed(p.Name).NodePort
			if !o.Set || sv.Type != NodePort {
				continue
			}
			if o.Value < max(lo, 1) || o.Value > min(hi, 65535) {
				r.errorf(at(o.Origin), "Node port out of range",
					"The node port %d is not in the range %d-%d. Use one of the range, or change node_port_range of the proxy.", o.Value, lo, hi)
				continue
			}
			k, owner := key{o.Value, p.Protocol}, fmt.Sprintf("port %q of service %q", p.Name, sv.Name)
			if first, ok := owners[k]; ok {
				r.errorf(at(o.Origin), "Node port taken twice",
					"The node port %d already belongs to %s. Use another one, or leave it out.", o.Value, first)
				continue
			}
			owners[k] = owner
			numbers.reserve(uint64(o.Value-lo), owner)
			out[p] = uint16(o.Value)
		}
	}
	return out
}

// portNamed is the port of that name as it was written first.
func (s ServiceSpec) portNamed(name string) ServicePortSpec {
	i := slices.IndexFunc(s.Ports, func(p ServicePortSpec) bool { return p.Name == name })
	if i < 0 {
		return ServicePortSpec{}
	}
	return s.Ports[i]
}
