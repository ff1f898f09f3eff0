package language

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

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

// of finds what an object of an expression stands for; nil if it is not one or was
// not resolved.
func (p *places) of(v cty.Value) any {
	if !isKind(v, "node", "client", "pod", "service") {
		return nil
	}
	name, key := textOf(v, "name"), textOf(v, "namespace")+"/"+textOf(v, "name")
	switch textOf(v, "kind") {
	case "node":
		return orNil(p.nodes[name])
	case "client":
		return orNil(p.clients[name])
	case "pod":
		return orNil(p.pods[key])
	default:
		return orNil(p.services[key])
	}
}

func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}

func (p *places) place(v cty.Value) (expect.Place, bool) {
	switch o := p.of(v).(type) {
	case *topology.Node:
		return expect.Place{Name: o.Name, Netns: o.Netns(), Addrs: o.Addrs}, true
	case *topology.Client:
		return expect.Place{Name: o.Name, Netns: o.Netns(), Addrs: o.Addrs}, true
	case *topology.Pod:
		return expect.Place{Name: o.AgentName(), Netns: o.Netns(), Addrs: o.Addrs}, true
	}
	return expect.Place{}, false
}

// suggest says, as a sentence, how to refer to what a text probably names.
func (p *places) suggest(v cty.Value) string {
	name, ok := asText(v)
	if !ok {
		return " Refer to one, such as node.node1."
	}
	for kind, has := range map[string]bool{"client": p.clients[name] != nil, "node": p.nodes[name] != nil, "pod": p.pods["default/"+name] != nil} {
		if has {
			return " Write " + kind + "." + name + " without quotes."
		}
	}
	return " Refer to one, such as node.node1."
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

// listener is what answers for an object.
func (p *places) listener(v cty.Value) (answering, bool) {
	return p.listenerOf(p.of(v), 0)
}

// maxAliases bounds a chain of aliases, as resolvers do.
const maxAliases = 8

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
	return hint(host, p.hosts())
}

// prefixes is what an object or a text means as the source of a packet. A node means
// every address that its packets can have: that of the underlay, that of its bridge, from
// which it reaches its own pods, and that of its vxlan device, from which it reaches
// the others'.
func (p *places) prefixes(v cty.Value) ([]netip.Prefix, bool) {
	var addrs []netip.Addr
	switch o := p.of(v).(type) {
	case *topology.Node:
		addrs = append(addrs, o.Addrs...)
		for _, share := range o.PodCIDRs {
			addrs = append(addrs, share.Addr().Next(), share.Addr())
		}
	case *topology.Client:
		addrs = o.Addrs
	case *topology.Pod:
		addrs = o.Addrs
	default:
		s, ok := asText(v)
		if !ok {
			return nil, false
		}
		prefix, ok := prefixOf(s)
		return []netip.Prefix{prefix}, ok
	}
	var out []netip.Prefix
	for _, a := range addrs {
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out, true
}
