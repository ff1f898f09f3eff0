package resolve

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

const (
	// dnsReplicas is how many name servers there are: as many as kubeadm starts.
	dnsReplicas    = 2
	maxDNSReplicas = 100
	// dnsHost is the place of the name service in the service CIDR (GetDNSIP in
	// kubernetes/cmd/kubeadm/app/constants).
	dnsHost = 10
	// dnsApp is the label of the pods, whose value dates from when kube-dns was the server.
	dnsApp = "k8s-app"
	// systemBlock is before the labels of blocks that nobody wrote: no expression refers to them.
	systemBlock = "/" + topology.SystemNamespace + "/"
)

// addDNS adds the pods and the service of the dns block to what is written. From then on they
// are objects as all others.
func (r *resolver) addDNS() {
	d := &r.Spec.DNS
	if !d.Written {
		return
	}
	r.Lab.DNS = &topology.DNS{ClusterDomain: r.clusterDomain(), Origin: d.Origin}
	if mode := r.Lab.Network.Mode; mode.SharedCIDR {
		r.Errorf(draft.At(d.Origin), "Name service without services",
			"Pods reach the name servers by the address of a service, and there are no services in network mode %q. Remove the dns block, or use another mode.", mode.Name)
		return
	}
	r.Lab.DNS.NodeLocal = r.nodeLocal()
	r.reserveDNS()
	spec := *r.Spec // what the caller has stays as it is
	r.Spec = &spec
	if !slices.ContainsFunc(spec.Namespaces, func(n topology.NamespaceSpec) bool { return n.Name == topology.SystemNamespace }) {
		spec.Namespaces = append(slices.Clip(spec.Namespaces), topology.NamespaceSpec{Name: topology.SystemNamespace, Written: topology.Written{Block: systemBlock}, Origin: d.Origin})
	}
	here := topology.Opt[string]{Value: topology.SystemNamespace, Set: true, Origin: d.Origin}
	labels := map[string]string{dnsApp: topology.DNSService}
	number := topology.Opt[int]{Value: topology.DNSPort, Set: true, Origin: d.Origin}
	udp := topology.Opt[string]{Value: string(topology.UDP), Set: true, Origin: d.Origin}
	spec.Pods = slices.Clip(spec.Pods)
	for i := range r.Number(d.Replicas, "number of replicas", dnsReplicas, 1, maxDNSReplicas) {
		spec.Pods = append(spec.Pods, topology.PodSpec{
			Block: systemBlock + topology.DNSPod, Key: strconv.Itoa(i), Index: i, Namespace: here, Labels: labels, Origin: d.Origin,
			Named:     topology.Opt[string]{Value: topology.NameOf(topology.DNSPod, strconv.Itoa(i)), Set: true, Origin: d.Origin},
			DNSPolicy: topology.Opt[string]{Value: string(topology.DNSDefault), Set: true, Origin: d.Origin},
			Ports: []topology.PortSpec{
				{Name: "dns", Port: number, Protocol: udp, Origin: d.Origin},
				{Name: "dns-tcp", Port: number, Origin: d.Origin},
			},
		})
	}
	spec.Services = append(slices.Clip(spec.Services), topology.ServiceSpec{
		Name: topology.DNSService, Written: topology.Written{Block: systemBlock + topology.DNSService}, Namespace: here,
		Labels: labels, Selector: labels, SelectorOrigin: d.Origin, ClusterIPs: r.dnsAddresses(), Origin: d.Origin,
		IPFamilyPolicy: topology.Opt[string]{Value: "PreferDualStack", Set: true, Origin: d.Origin},
		Ports: []topology.ServicePortSpec{
			{Name: "dns", Port: number, Protocol: udp, Origin: d.Origin},
			{Name: "dns-tcp", Port: number, Origin: d.Origin},
		},
	})
}

// isNameServer reports whether a pod is one that addDNS added.
func isNameServer(p *topology.Pod) bool {
	return p.Namespace == topology.SystemNamespace && p.Block == systemBlock+topology.DNSPod
}

// reserveDNS reports objects that have the names of those that the dns block makes, and takes them out.
func (r *resolver) reserveDNS() {
	d := r.Spec.DNS
	refuse := func(kind, name string, o topology.Origin) {
		r.Errorf(draft.At(o), "Name of the name service", "The dns block %s makes the %s %q of namespace %s itself. Rename this one, or remove the dns block.",
			d.Origin.SeenFrom(o), kind, name, topology.SystemNamespace)
	}
	for _, s := range r.Spec.Services {
		if s.Name == topology.DNSService && s.Namespace.Value == topology.SystemNamespace {
			refuse("service", s.Name, cmp.Or(s.Written.Named, s.Origin))
		}
	}
	ours := func(p topology.PodSpec) bool {
		n, numbered := strings.CutPrefix(p.Name(), topology.DNSPod+"-")
		_, err := strconv.ParseUint(n, 10, 16)
		return numbered && err == nil && p.Namespace.Value == topology.SystemNamespace
	}
	for _, p := range r.Spec.Pods {
		if ours(p) {
			refuse("pod", p.Name(), cmp.Or(p.Named.Origin, p.Origin))
		}
	}
	mine := func(name string, ns topology.Opt[string]) bool {
		return name == topology.DNSService && ns.Value == topology.SystemNamespace
	}
	spec := *r.Spec
	spec.Services = slices.DeleteFunc(slices.Clone(spec.Services), func(s topology.ServiceSpec) bool { return mine(s.Name, s.Namespace) })
	spec.Pods = slices.DeleteFunc(slices.Clone(spec.Pods), ours)
	r.Spec = &spec
}

// clusterDomain is the DNS domain of the lab.
func (r *resolver) clusterDomain() string {
	o := r.Spec.DNS.ClusterDomain
	domain := strings.TrimSuffix(o.Or(topology.ClusterDomain), ".")
	// The names of services, up to 63 characters each, are put before it.
	const longest = 253 - len(".svc.") - 2*63 - 1
	if o.Set && (!draft.IsDNSSubdomain(domain) || len(domain) > longest) {
		r.Errorf(draft.At(o.Origin), "Invalid domain", "%q is not a DNS domain for services: labels of a-z, 0-9 and \"-\", joined by dots, up to %d characters. Use one such as %q.",
			draft.Shorten(o.Value), longest, topology.ClusterDomain)
		return topology.ClusterDomain
	}
	return domain
}

// dnsAddresses are the cluster IPs of the name service: the tenth address of each service CIDR,
// unless one is written, which is the first.
func (r *resolver) dnsAddresses() topology.Opt[[]string] {
	d := r.Spec.DNS
	out := topology.Opt[[]string]{Set: true, Origin: cmp.Or(d.ClusterIP.Origin, d.Origin)}
	for _, c := range r.Lab.Network.ServiceCIDRs {
		a := nth(c, dnsHost)
		if d.ClusterIP.Set && d.ClusterIP.Value.Is6() == c.Addr().Is6() {
			a = d.ClusterIP.Value
		}
		if !a.IsValid() {
			r.Errorf(draft.At(d.Origin), "No address for names", "The service CIDR %s has no tenth address, which the name service gets. Add cluster_ip to the dns block, or use a larger service_cidr.", c)
			continue
		}
		out.Value = append(out.Value, a.String())
		r.Lab.DNS.Servers = append(r.Lab.DNS.Servers, a)
	}
	if a := d.ClusterIP; a.Set && !slices.ContainsFunc(r.Lab.DNS.Servers, func(b netip.Addr) bool { return a.Value == b }) {
		r.Errorf(draft.At(a.Origin), "Address of other family", "No service CIDR of this lab has addresses like %s. Use one of %s.", a.Value, r.Lab.Network.ServiceCIDRs[0])
	}
	return out
}

// nodeLocal is the address of the name servers on nodes; not valid: there are none.
func (r *resolver) nodeLocal() (none netip.Addr) {
	o := r.Spec.DNS.NodeLocal
	if !o.Set {
		return none
	}
	a, n := o.Value.Unmap(), &r.Lab.Network
	inUse := func(p netip.Prefix) bool { return p.Contains(a) }
	switch {
	case a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.Is6() && a.IsLinkLocalUnicast() || a == topology.LinkGateway:
		r.Errorf(draft.At(o.Origin), "Not an address for names", "Pods cannot reach a name server of their node at %s. Use 169.254.20.10, or for IPv6 one such as fd00:20::10.", a)
	case slices.ContainsFunc(slices.Concat(n.NodeCIDRs, n.PodCIDRs, n.ServiceCIDRs, n.LoadBalancerCIDRs), inUse):
		r.Errorf(draft.At(o.Origin), "Address of others", "%s may be that of a node, a pod or a service. Use one that is in no network of the lab, such as 169.254.20.10.", a)
	case !slices.ContainsFunc(n.PodCIDRs, func(p netip.Prefix) bool { return p.Addr().Is6() == a.Is6() }):
		r.Errorf(draft.At(o.Origin), "Address of other family", "No pod of this lab has an address of the family of %s. Use one such as %s.", a, map[bool]string{true: "169.254.20.10", false: "fd00:20::10"}[a.Is6()])
	default:
		return a
	}
	return none
}

// nth is an address of a prefix, counted from that of the network; not valid: it has no such
// address for hosts.
func nth(p netip.Prefix, n int) netip.Addr {
	a := p.Masked().Addr()
	for range n {
		a = a.Next()
	}
	if !p.Contains(a) || a.Is4() && !p.Contains(a.Next()) { // the last one is for broadcasts
		return netip.Addr{}
	}
	return a
}
