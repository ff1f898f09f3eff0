package language

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/topology"
)

// places finds the parts of a resolved lab by name.
type places struct {
	nodes    map[string]*topology.Node
	clients  map[string]*topology.Client
	pods     map[string]*topology.Pod // by namespace/name
	services map[string]*topology.Service
	agents   []string // who can answer
}

func newPlaces(lab *topology.Lab) *places {
	p := &places{map[string]*topology.Node{}, map[string]*topology.Client{}, map[string]*topology.Pod{}, map[string]*topology.Service{}, nil}
	for _, n := range lab.Nodes {
		p.nodes[n.Name] = n
	}
	for _, c := range lab.Clients {
		p.clients[c.Name] = c
		if len(c.Ports) > 0 {
			p.agents = append(p.agents, c.Name)
		}
	}
	for _, pod := range lab.Pods {
		p.pods[pod.Namespace+"/"+pod.Name] = pod
		if len(pod.Ports) > 0 {
			p.agents = append(p.agents, pod.AgentName())
		}
	}
	for _, s := range lab.Services {
		p.services[s.Namespace+"/"+s.Name] = s
	}
	return p
}

// object finds a node, client, pod or service; nil if there is none.
func (p *places) object(kind, namespace, name string) any {
	switch kind {
	case "node":
		return orNil(p.nodes[name])
	case "client":
		return orNil(p.clients[name])
	case "pod":
		return orNil(p.pods[namespace+"/"+name])
	case "service":
		return orNil(p.services[namespace+"/"+name])
	}
	return nil
}

func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}

// place is a node, client or pod as expectations name it.
func (p *places) place(object any) (expect.Place, bool) {
	switch o := object.(type) {
	case *topology.Node:
		return expect.Place{Name: o.Name, Netns: o.Netns(), Addrs: o.Addrs}, true
	case *topology.Client:
		return expect.Place{Name: o.Name, Netns: o.Netns(), Addrs: o.Addrs}, true
	case *topology.Pod:
		return expect.Place{Name: o.AgentName(), Netns: o.Netns(), Addrs: o.Addrs}, true
	}
	return expect.Place{}, false
}

// kindOf is what a plain name probably means: a client, a node or a pod; "": none of them.
func (p *places) kindOf(name string) string {
	for _, kind := range []string{"client", "node", "pod"} {
		if p.object(kind, topology.DefaultNamespace, name) != nil {
			return kind
		}
	}
	return ""
}

// portOf is a port that can be dialed.
type portOf struct {
	name     string
	number   uint16
	protocol topology.Protocol
}

// answering is what a name stands for: the addresses that DNS returns for it, and the
// ports of its object. Without an address the name does not resolve.
type answering struct {
	name  string
	addrs []netip.Addr
	ports []portOf
	alias string // of a service of type ExternalName
}

// maxAliases bounds a chain of aliases, as resolvers do.
const maxAliases = 8

// listener is what answers for a node, client, pod or service.
func (p *places) listener(object any) (answering, bool) { return p.listenerOf(object, 0) }

func (p *places) listenerOf(object any, aliases int) (out answering, ok bool) {
	var own []topology.Port
	switch o := object.(type) {
	case *topology.Node:
		out.name, out.addrs = "node "+o.Name, first(o.Addrs)
	case *topology.Client:
		out.name, out.addrs, own = "client "+o.Name, first(o.Addrs), o.Ports
	case *topology.Pod:
		out.name, out.addrs, own = "pod "+o.AgentName(), first(o.Addrs), o.Ports
	case *topology.Service:
		out.name, out.addrs = "service "+o.Name, first(o.ClusterIPs)
		if o.Namespace != topology.DefaultNamespace {
			out.name += "." + o.Namespace
		}
		for _, sp := range o.Ports {
			out.ports = append(out.ports, portOf{sp.Name, sp.Port, sp.Protocol})
		}
		switch {
		case o.Type == topology.ExternalName:
			p.follow(&out, o, aliases)
		case len(o.ClusterIPs) == 0:
			out.addrs = headlessAddrs(o)
		}
	default:
		return out, false
	}
	for _, port := range own {
		out.ports = append(out.ports, portOf{port.Name, port.Number, port.Protocol})
	}
	return out, true
}

func first(addrs []netip.Addr) []netip.Addr { return addrs[:min(1, len(addrs))] }

// follow resolves an alias (CNAME). The ports are its own if it has any, since a name
// has none.
func (p *places) follow(out *answering, o *topology.Service, aliases int) {
	out.alias = o.ExternalName
	if aliases >= maxAliases {
		return
	}
	to, ok := p.resolve(o.ExternalName, topology.DefaultNamespace, aliases+1)
	if !ok {
		return
	}
	out.addrs = to.addrs
	if len(out.ports) == 0 {
		out.ports = to.ports
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

// lookup resolves a name as the lab's DNS would for a pod of the namespace: service
// (of that namespace), service.namespace and the full name; and, beyond Kubernetes,
// the names of pods (pod.namespace), nodes and clients.
func (p *places) lookup(host, namespace string) (answering, bool) {
	return p.resolve(host, namespace, 0)
}

func (p *places) resolve(host, namespace string, aliases int) (answering, bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	host = strings.TrimSuffix(host, "."+clusterDomain)
	host = strings.TrimSuffix(host, ".svc")
	service, ns, dotted := strings.Cut(host, ".")
	if !dotted {
		ns = namespace
	}
	candidates := []any{orNil(p.services[ns+"/"+service]), orNil(p.pods[ns+"/"+service])}
	if !dotted {
		candidates = append(candidates, orNil(p.pods[topology.DefaultNamespace+"/"+service]), orNil(p.nodes[host]), orNil(p.clients[host]))
	}
	for _, c := range candidates {
		if c != nil {
			return p.listenerOf(c, aliases)
		}
	}
	return answering{}, false
}

// hosts are the names that resolve, for suggestions.
func (p *places) hosts() []string {
	out := slices.Concat(slices.Collect(maps.Keys(p.nodes)), slices.Collect(maps.Keys(p.clients)))
	for _, s := range p.services {
		out = append(out, hostOf(s.Name, s.Namespace))
	}
	for _, pod := range p.pods {
		out = append(out, hostOf(pod.Name, pod.Namespace))
	}
	return out
}

// hostOf is the shortest name that resolves from namespace default.
func hostOf(name, namespace string) string {
	if namespace == topology.DefaultNamespace {
		return name
	}
	return name + "." + namespace
}

// unknownHost suggests, as a sentence, what an unresolved name may have meant.
func (p *places) unknownHost(host string) string {
	for _, known := range slices.Sorted(slices.Values(p.hosts())) {
		if strings.HasPrefix(known, host+".") {
			return " Did you mean \"" + known + "\"?"
		}
	}
	return topology.DidYouMean(host, p.hosts())
}

// allAddrs are the addresses that packets of an object can have. For a node that is
// every one of them: that of the underlay, that of its bridge, from which it reaches its own
// pods, and that of its vxlan device, from which it reaches the others'.
func allAddrs(object any) (addrs []netip.Addr, ok bool) {
	switch o := object.(type) {
	case *topology.Node:
		addrs = slices.Clone(o.Addrs)
		for _, share := range o.PodCIDRs {
			addrs = append(addrs, share.Addr().Next(), share.Addr())
		}
		return addrs, true
	case *topology.Client:
		return o.Addrs, true
	case *topology.Pod:
		return o.Addrs, true
	}
	return nil, false
}
