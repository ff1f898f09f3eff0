package ingresses

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// Bounds of a routing table, and of what is in it.
const (
	maxPaths = 5000
	maxPath  = 1024 // characters
)

// resolver resolves ingresses in a draft.
type resolver struct {
	*draft.Draft
	paths    map[place]topology.Origin // of all ingresses
	fallback *topology.Ingress         // which has the default backend
	count    int
}

// place is where requests go that one path takes.
type place struct {
	host, path string
	how        topology.PathType
	deep       bool   // the wildcard stands for any number of labels
	others     string // method and headers
	on         topology.ListenerProtocol
}

// Resolve resolves the ingresses of a lab whose services are resolved.
func Resolve(d *draft.Draft) {
	r := &resolver{Draft: d, paths: map[place]topology.Origin{}}
	seen := map[string]topology.Origin{}
	for i := range r.Spec.Ingresses {
		s := &r.Spec.Ingresses[i]
		r.Of("ingress", s.Written.Block, s.Written.Key)
		named := cmp.Or(s.Written.Named, s.Origin)
		x := &topology.Ingress{Name: s.Name, Written: s.Written, Namespace: r.Namespace(s.Namespace), Labels: draft.Labels(s.Labels), Class: s.Class.Value, Origin: s.Origin}
		if !draft.IsDNSSubdomain(s.Name) || strings.HasSuffix(s.Name, ".") {
			r.CheckName("ingress", s.Name, named)
		}
		name := x.Name
		if x.Namespace != topology.DefaultNamespace {
			name = x.Namespace + "/" + name
		}
		if !r.Unique(seen, "ingress", name, named) {
			continue
		}
		r.resolve(x, s)
		r.Lab.Ingresses = append(r.Lab.Ingresses, x)
	}
	r.Of("ingress", "", "")
	r.gateways()
	r.grants()
	r.routes()
}

func (r *resolver) resolve(x *topology.Ingress, s *topology.IngressSpec) {
	if s.Default == nil && len(s.Rules) == 0 {
		r.Errorf(draft.At(s.Origin), "Ingress without rules", "The ingress %q leads nowhere. Add rule { … } or default_backend { … }.", s.Name)
	}
	if b := s.Default; b != nil {
		if to, ok := r.backend(inNamespace{"ingress", x.Name, x.Namespace}, b); ok {
			x.Default = &to
		}
		if other := r.fallback; other != nil {
			r.Errorf(draft.At(b.Origin), "Two default backends", "The ingress %q, declared %s, has the default backend already. Remove one of them.", other.Name, other.Origin.SeenFrom(s.Origin))
		}
		r.fallback = x
	}
	for _, rule := range s.Rules {
		r.rule(x, rule)
	}
	for _, t := range s.TLS {
		r.tls(x, t)
	}
}

func (r *resolver) rule(x *topology.Ingress, s topology.IngressRuleSpec) {
	out := topology.IngressRule{Host: s.Host.Value}
	r.host(s.Host)
	if len(s.Paths) == 0 {
		r.Errorf(draft.At(s.Origin), "Rule without paths", "This rule of the ingress %q leads nowhere. Add path { service = service.NAME }.", x.Name)
	}
	for _, p := range s.Paths {
		one := topology.IngressPath{Path: p.Path.Or("/"), Origin: p.Origin}
		types := []string{string(topology.PathPrefix), string(topology.PathExact), string(topology.ImplementationSpecificPath)}
		one.Type = topology.PathType(r.Enum(p.Type, "path type", string(topology.PathPrefix), types, nil))
		r.checkPath(one, p.Path.Origin)
		to, ok := r.backend(inNamespace{"ingress", x.Name, x.Namespace}, &p.Backend)
		where := cmp.Or(p.Path.Origin, p.Origin)
		key := place{host: out.Host, path: one.Path, how: one.Type}
		if r.takes(key, one.Path, where, p.Origin) && ok {
			one.Backend = to
			out.Paths = append(out.Paths, one)
		}
	}
	x.Rules = append(x.Rules, out)
}

// takes notes a path, which no other may be. False: it is not part of the lab.
func (r *resolver) takes(key place, path string, where, o topology.Origin) bool {
	switch key.how {
	case topology.PathPrefix, topology.RoutePathPrefix, topology.ImplementationSpecificPath:
		key.how = topology.PathPrefix
		key.path = strings.TrimSuffix(key.path, "/")
	}
	if first, taken := r.paths[key]; taken {
		host := "any host"
		if key.host != "" {
			host = strconv.Quote(draft.Shorten(key.host))
		}
		r.Errorf(draft.At(where), "Path taken twice", "The path %q of %s leads somewhere already, %s. Remove one of them.", draft.Shorten(path), host, first.SeenFrom(o))
		return false
	}
	r.paths[key] = o
	if r.count++; r.count == maxPaths+1 {
		r.Errorf(draft.At(o), "Too many paths", "The ingresses and routes of this lab have more than %d paths. Remove some.", maxPaths)
	}
	return r.count <= maxPaths
}

// host checks a host: a DNS name, perhaps with one wildcard for its first label.
func (r *resolver) host(o topology.Opt[string]) {
	name, wild := strings.CutPrefix(o.Value, "*.")
	switch {
	case !o.Set || o.Value == "":
	case !draft.IsDNSSubdomain(name) || strings.HasSuffix(name, ".") || wild && !strings.Contains(name, ".") && name == "":
		r.Errorf(draft.At(o.Origin), "Invalid host", "%q is not a host: labels of a-z, 0-9 and \"-\", joined by dots, the first of which may be \"*\"; no address and no port. Use one such as \"shop.example\" or \"*.example\".",
			draft.Shorten(o.Value))
	case isAddress(name):
		r.Errorf(draft.At(o.Origin), "Address as host", "The host of an ingress is a DNS name, not an address such as %q. Leave it out for requests to any host.", draft.Shorten(o.Value))
	}
}

// isAddress reports a name that is an IPv4 address.
func isAddress(name string) bool { return strings.Trim(name, "0123456789.") == "" }

func (r *resolver) checkPath(p topology.IngressPath, at topology.Origin) {
	bad := strings.ContainsFunc(p.Path, func(c rune) bool { return c <= ' ' || c > '~' || c == '?' || c == '#' || c == '"' || c == '\\' })
	switch {
	case !strings.HasPrefix(p.Path, "/") && !(p.Path == "" && p.Type == topology.ImplementationSpecificPath):
		r.Errorf(draft.At(at), "Invalid path", "The path %q is not absolute. Use one that begins with \"/\".", draft.Shorten(p.Path))
	case bad || len(p.Path) > maxPath:
		r.Errorf(draft.At(at), "Invalid path", "The path %q is not one of up to %d printable characters of ASCII, without spaces, queries and quotes. Use one such as \"/api\".", draft.Shorten(p.Path), maxPath)
	case p.Type != topology.ImplementationSpecificPath && (strings.Contains(p.Path, "//") || dotted(p.Path)):
		r.Errorf(draft.At(at), "Invalid path", "The path %q has empty elements, or such as \".\" and \"..\", which no request has. Use a path without them.", draft.Shorten(p.Path))
	}
}

func dotted(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(e string) bool { return e == "." || e == ".." })
}

// inNamespace is an ingress or a route.
type inNamespace struct{ kind, name, namespace string }

// backend finds the port of a service of the ingress' own namespace.
func (r *resolver) backend(x inNamespace, s *topology.BackendSpec) (out topology.Backend, ok bool) {
	switch {
	case !s.Service.Set && s.Service.Origin != (topology.Origin{}): // reported by the reader
		return out, false
	case !s.Service.Set:
		r.Errorf(draft.At(s.Origin), "Missing service", "This path of the %s %q leads to no service. Add service = service.NAME.", x.kind, x.name)
		return out, false
	}
	namespace := s.Namespace.Or(x.namespace)
	var here, elsewhere []string
	for _, sv := range r.Lab.Services {
		switch {
		case sv.Namespace == namespace && sv.Name == s.Service.Value:
			out.Service = sv
		case sv.Namespace == namespace:
			here = append(here, sv.Name)
		case sv.Name == s.Service.Value:
			elsewhere = append(elsewhere, sv.Namespace)
		}
	}
	if out.Service == nil {
		hint := topology.DidYouMean(s.Service.Value, here)
		if len(elsewhere) > 0 {
			hint = " That of namespace " + topology.OneOf(elsewhere) + " cannot be meant: an " + x.kind + " leads to services of its own namespace."
			if x.kind == "http_route" {
				hint = " There is one in namespace " + topology.OneOf(elsewhere) + ", for which namespace would be written, too."
			}
		}
		r.Errorf(draft.At(s.Service.Origin, s.Origin), "No such service", "There is no service %q in namespace %s, to which the %s %q leads.%s Declare it, or name another one.",
			draft.Shorten(s.Service.Value), namespace, x.kind, x.name, hint)
		return out, false
	}
	out.Weight = 1
	out.Refused = namespace != x.namespace && !slices.ContainsFunc(r.Lab.Grants, func(g *topology.ReferenceGrant) bool { return g.Allows(x.namespace, out.Service) })
	if out.Port, ok = r.port(out.Service, s); !ok {
		return out, false
	}
	out.ByName = s.Port.Set && s.Port.Value == out.Port.Name
	for _, e := range out.Port.Endpoints {
		if e.Pod != nil && e.Pod.Ingress {
			r.Errorf(draft.At(s.Service.Origin, s.Origin), "Ingress in a circle", "The service %q leads to the ingress controller itself, so that requests would never end. Name another one.", out.Service.Name)
			return out, false
		}
	}
	return out, true
}

// port is the port of a service that a backend names by number or name, or its only one.
func (r *resolver) port(sv *topology.Service, s *topology.BackendSpec) (*topology.ServicePort, bool) {
	var known, tcp []string
	for _, p := range sv.Ports {
		if s.Port.Set && (p.Name == s.Port.Value || strconv.Itoa(int(p.Port)) == s.Port.Value) || !s.Port.Set && len(sv.Ports) == 1 {
			if p.Protocol == topology.TCP {
				return p, true
			}
			r.Errorf(draft.At(s.Port.Origin, s.Service.Origin), "Backend without TCP", "HTTP is spoken over TCP, and the port %d of service %q is of %s. Name another port.", p.Port, sv.Name, p.Protocol)
			return nil, false
		}
		if p.Protocol == topology.TCP {
			tcp = append(tcp, strconv.Itoa(int(p.Port)))
			if p.Name != "" {
				known = append(known, p.Name)
			}
		}
	}
	known = append(known, tcp...)
	switch {
	case !s.Port.Set && s.Port.Origin != (topology.Origin{}): // reported by the reader
	case sv.Type == topology.ExternalName:
		r.Errorf(draft.At(s.Service.Origin), "Backend is an alias", "The service %q is only an alias of a name, so it has no endpoints to send requests to. Name another one.", sv.Name)
	case len(known) == 0:
		r.Errorf(draft.At(s.Port.Origin, s.Service.Origin), "Service without ports", "The service %q has no tcp port, so it takes no requests. Give it a port, or name another one.", sv.Name)
	case !s.Port.Set:
		r.Errorf(draft.At(s.Service.Origin), "Which port?", "The service %q has the ports %s. Add port = %s.", sv.Name, topology.OneOf(known), quoted(known[0]))
	default:
		r.Errorf(draft.At(s.Port.Origin), "No such port", "The service %q has no port %q.%s Use %s.", sv.Name, draft.Shorten(s.Port.Value), topology.DidYouMean(s.Port.Value, known), topology.OneOf(known))
	}
	return nil, false
}

// quoted is a port as it is written.
func quoted(port string) string {
	if _, err := strconv.Atoi(port); err == nil {
		return port
	}
	return strconv.Quote(port)
}

func (r *resolver) tls(x *topology.Ingress, s topology.IngressTLSSpec) {
	if len(s.Hosts.Value) == 0 {
		if s.Hosts.Set || s.Hosts.Origin == (topology.Origin{}) {
			r.Warnf(draft.At(s.Hosts.Origin, s.Origin), "TLS without host", "A certificate is for hosts, and none is named here, so it has no effect. Add hosts, such as \"shop.example\".")
		}
		return
	}
	for _, h := range s.Hosts.Value {
		o := topology.Opt[string]{Value: h, Set: true, Origin: s.Hosts.Origin}
		r.host(o)
		if !slices.ContainsFunc(x.Rules, func(rule topology.IngressRule) bool {
			return rule.Host != "" && topology.CertificateCovers(h, rule.Host)
		}) {
			r.Warnf(draft.At(s.Hosts.Origin), "TLS host without rule", "No rule of the ingress %q is for the host %q, so nobody sees its certificate. Add a rule, or remove it.", x.Name, draft.Shorten(h))
		}
	}
	x.TLS = append(x.TLS, topology.IngressTLS{Hosts: slices.Clone(s.Hosts.Value), SecretName: s.SecretName.Value})
}
