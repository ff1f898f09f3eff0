package names

import (
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/netlab/netlab/datapath/plan/zone"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/dns"
)

// Places finds the parts of a resolved lab by name.
type Places struct {
	lab       *topology.Lab
	index     func() *zone.Index // of the records of its name servers
	objects   map[key]any        // *topology.Node, Client, Router, Pod or Service
	addressed map[string]any     // by their addresses in expressions
	Agents    []string           // who can answer
}

// key is the name of an object. Nodes, clients and routers have no namespace.
type key struct{ kind, namespace, name string }

// New prepares to find the parts of a lab.
func New(lab *topology.Lab) *Places {
	index := sync.OnceValue(func() *zone.Index { return zone.NewIndex(dns.Records(lab)) })
	p := &Places{lab: lab, index: index, objects: map[key]any{}, addressed: map[string]any{}}
	for _, n := range lab.Nodes {
		p.add("node", "", n.Name, n, n.Written.Block, n.Written.Key)
	}
	for _, c := range lab.Clients {
		p.add("client", "", c.Name, c, c.Written.Block, c.Written.Key)
		if len(c.Ports) > 0 {
			p.Agents = append(p.Agents, c.Name)
		}
	}
	for _, r := range lab.Routers {
		p.add("router", "", r.Name, r, r.Written.Block, r.Written.Key)
	}
	for _, pod := range lab.Pods {
		p.add("pod", pod.Namespace, pod.Name, pod, pod.Block, pod.Key)
		if len(pod.Ports) > 0 {
			p.Agents = append(p.Agents, pod.AgentName())
		}
	}
	if lab.DNS != nil && lab.DNS.NodeLocal.IsValid() {
		for _, n := range lab.Nodes {
			p.Agents = append(p.Agents, lab.DNS.OnNode(n))
		}
	}
	for _, s := range lab.Services {
		p.add("service", s.Namespace, s.Name, s, s.Written.Block, s.Written.Key)
	}
	return p
}

func (p *Places) add(kind, namespace, name string, object any, block, instance string) {
	p.objects[key{kind, namespace, name}] = object
	for _, a := range addresses(kind, block, instance) {
		p.addressed[a] = object
	}
}

// Object finds a node, client, router, pod or service; nil if there is none.
func (p *Places) Object(kind, namespace, name string) any {
	if kind == "node" || kind == "client" || kind == "router" {
		namespace = ""
	}
	return p.objects[key{kind, namespace, name}]
}

// Place is a node, client, router or pod as expectations name it.
func (p *Places) Place(object any) (expect.Place, bool) {
	switch o := object.(type) {
	case *topology.Node:
		return expect.Place{Name: o.Name, Netns: o.Netns(), Addrs: o.Addrs}, true
	case *topology.Client:
		return expect.Place{Name: o.Name, Netns: o.Netns(), Addrs: o.Addrs}, true
	case *topology.Router:
		return expect.Place{Name: o.Name, Netns: o.Netns(), Addrs: o.Addrs()}, true
	case *topology.Pod:
		return expect.Place{Name: o.AgentName(), Netns: o.Netns(), Addrs: o.Addrs}, true
	}
	return expect.Place{}, false
}

// AddressOf is how to refer to what a plain name probably means: a client, a node, a router or
// a pod; "": none of them.
func (p *Places) AddressOf(name string) string {
	for _, kind := range []string{"client", "node", "router", "pod"} {
		switch o := p.Object(kind, topology.DefaultNamespace, name).(type) {
		case *topology.Client:
			return topology.Address(kind, o.Written.Block, o.Written.Key)
		case *topology.Node:
			return topology.Address(kind, o.Written.Block, o.Written.Key)
		case *topology.Router:
			return topology.Address(kind, o.Written.Block, o.Written.Key)
		case *topology.Pod:
			return topology.Address(kind, o.Block, o.Key)
		}
	}
	return ""
}

// Answer is what a name stands for: the addresses that DNS returns for it, and the
// ports of its object. Without an address the name does not resolve.
type Answer struct {
	Name  string
	Addrs []netip.Addr
	Ports []topology.Port
	Alias string // of a service of type ExternalName
}

// maxAliases bounds a chain of aliases, as resolvers do.
const maxAliases = 8

// Listener is what answers for a node, client, router, pod or service.
func (p *Places) Listener(object any) (Answer, bool) { return p.listenerOf(object, 0) }

func (p *Places) listenerOf(object any, aliases int) (out Answer, ok bool) {
	switch o := object.(type) {
	case *topology.Node:
		out.Name, out.Addrs = "node "+o.Name, first(o.Addrs)
	case *topology.Client:
		out.Name, out.Addrs, out.Ports = "client "+o.Name, first(o.Addrs), o.Ports
	case *topology.Router:
		out.Name, out.Addrs = "router "+o.Name, first(o.Addrs())
	case *topology.Pod:
		out.Name, out.Addrs, out.Ports = "pod "+o.AgentName(), first(o.Addrs), o.Ports
	case *topology.Service:
		out.Name, out.Addrs = "service "+o.Name, first(o.ClusterIPs)
		if o.Namespace != topology.DefaultNamespace {
			out.Name += "." + o.Namespace
		}
		for _, sp := range o.Ports {
			out.Ports = append(out.Ports, topology.Port{Name: sp.Name, Number: sp.Port, Protocol: sp.Protocol})
		}
		switch {
		case o.Type == topology.ExternalName:
			p.follow(&out, o, aliases)
		case len(o.ClusterIPs) == 0:
			out.Addrs = headlessAddrs(o)
		}
	default:
		return out, false
	}
	return out, true
}

func first(addrs []netip.Addr) []netip.Addr { return addrs[:min(1, len(addrs))] }

// follow resolves an alias (CNAME). The ports are its own if it has any, since a name
// has none.
func (p *Places) follow(out *Answer, o *topology.Service, aliases int) {
	out.Alias = o.ExternalName
	if aliases >= maxAliases {
		return
	}
	to, ok := p.resolve(o.ExternalName, topology.DefaultNamespace, aliases+1)
	if !ok {
		return
	}
	out.Addrs = to.Addrs
	if len(out.Ports) == 0 {
		out.Ports = to.Ports
	}
}

// headlessAddrs are the addresses that DNS returns for a headless service: those of
// its ready endpoints.
func headlessAddrs(o *topology.Service) []netip.Addr {
	var out []netip.Addr
	for _, sp := range o.Ports {
		for _, e := range sp.Endpoints {
			if e.Ready && !slices.Contains(out, e.Addr.Addr()) {
				out = append(out, e.Addr.Addr())
			}
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

// Lookup resolves a name as the lab's DNS would for a pod of the namespace: service
// (of that namespace), service.namespace and the full name; and, beyond Kubernetes,
// the names of pods (pod.namespace), nodes, clients and routers.
func (p *Places) Lookup(host, namespace string) (Answer, bool) {
	return p.resolve(host, namespace, 0)
}

func (p *Places) resolve(host, namespace string, aliases int) (Answer, bool) {
	written := host
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	host = strings.TrimSuffix(host, "."+p.lab.Domain())
	host = strings.TrimSuffix(host, ".svc")
	name, ns, dotted := strings.Cut(host, ".")
	if !dotted {
		ns = namespace
	}
	candidates := []key{{"service", ns, name}, {"pod", ns, name}}
	if !dotted {
		candidates = append(candidates, key{"pod", topology.DefaultNamespace, name}, key{"node", "", name}, key{"client", "", name}, key{"router", "", name})
	}
	for _, k := range candidates {
		if o := p.objects[k]; o != nil {
			return p.listenerOf(o, aliases)
		}
	}
	return p.ingress(written)
}

// ingress finds the host of an ingress: the address of the controller.
func (p *Places) ingress(host string) (Answer, bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !slices.Contains(p.lab.IngressHosts(), host) {
		return Answer{}, false
	}
	addrs, ports := p.lab.IngressAddrs()
	return Answer{Name: host, Addrs: first(addrs), Ports: ports}, true
}

// hosts are the names that resolve, sorted, for suggestions.
func (p *Places) hosts() []string {
	var out []string
	for k := range p.objects {
		out = append(out, hostOf(k.name, k.namespace))
	}
	out = append(out, p.lab.IngressHosts()...)
	slices.Sort(out)
	return out
}

// hostOf is the shortest name that resolves from namespace default.
func hostOf(name, namespace string) string {
	if namespace == topology.DefaultNamespace || namespace == "" {
		return name
	}
	return name + "." + namespace
}

// DidYouMean suggests, as a sentence, what an unresolved name may have meant.
func (p *Places) DidYouMean(host string) string {
	for _, known := range p.hosts() {
		if strings.HasPrefix(known, host+".") {
			return " Did you mean \"" + known + "\"?"
		}
	}
	return topology.DidYouMean(host, p.hosts())
}

// AllAddrs are the addresses that packets of an object can have. For a node that is
// every one of them: that of the underlay, that of its bridge, from which it reaches its own
// pods, and that of its vxlan device, from which it reaches the others'.
func AllAddrs(object any) (addrs []netip.Addr, ok bool) {
	switch o := object.(type) {
	case *topology.Node:
		addrs = slices.Clone(o.Addrs)
		for _, share := range o.PodCIDRs {
			addrs = append(addrs, share.Addr().Next(), share.Addr())
		}
		return addrs, true
	case *topology.Client:
		return o.Addrs, true
	case *topology.Router:
		return o.Addrs(), true
	case *topology.Pod:
		return o.Addrs, true
	}
	return nil, false
}
