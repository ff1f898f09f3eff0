package topology

import (
	"net/netip"
	"slices"
	"strings"
)

// ControllerSpec is the ingress_controller block. A lab with an ingress has a controller even
// without it.
type ControllerSpec struct {
	Written       bool
	Replicas      Opt[int]
	Nodes         Opt[[]string] // instead: one on each of these
	HostNetwork   Opt[bool]
	ProxyProtocol Opt[bool]
	Service       ServiceSpec // what its service block says
	Origin        Origin
}

// IngressSpec is an ingress block.
type IngressSpec struct {
	Name      string
	Written   Written
	Namespace Opt[string]
	Labels    map[string]string
	Class     Opt[string]
	Default   *BackendSpec // nil: there is none
	Rules     []IngressRuleSpec
	TLS       []IngressTLSSpec
	Origin    Origin
}

// IngressRuleSpec is the paths of a host.
type IngressRuleSpec struct {
	Host   Opt[string]
	Paths  []IngressPathSpec
	Origin Origin
}

// IngressPathSpec is a path and where its requests go.
type IngressPathSpec struct {
	Path    Opt[string]
	Type    Opt[string]
	Backend BackendSpec
	Origin  Origin
}

// BackendSpec is a port of a service.
type BackendSpec struct {
	Service   Opt[string]
	Namespace Opt[string] // of routes: not set, that of the route
	Port      Opt[string] // a number or a name
	Weight    Opt[int]    // of routes
	Origin    Origin
}

// IngressTLSSpec is hosts that have a certificate.
type IngressTLSSpec struct {
	Hosts      Opt[[]string]
	SecretName Opt[string]
	Origin     Origin
}

// HTTPRouteSpec is an http_route block.
type HTTPRouteSpec struct {
	Name      string
	Written   Written
	Namespace Opt[string]
	Labels    map[string]string
	Parents   []ParentSpec
	Hostnames Opt[[]string]
	Rules     []HTTPRouteRuleSpec
	Origin    Origin
}

// HTTPRouteRuleSpec is requests that match any of some conditions, and where they go.
type HTTPRouteRuleSpec struct {
	Matches  []HTTPRouteMatchSpec
	Filters  HTTPFiltersSpec
	Backends []BackendSpec
	Origin   Origin
}

// HTTPRouteMatchSpec is what a request must have, all of it.
type HTTPRouteMatchSpec struct {
	Path    Opt[string]
	Type    Opt[string]
	Method  Opt[string]
	Headers map[string]string
	Query   map[string]string
	// Patterns are regular expressions for the whole value.
	HeaderPatterns, QueryPatterns map[string]string
	Origin                        Origin
}

// What an ingress controller is made of.
const (
	IngressNamespace = "ingress"
	IngressService   = "ingress-controller"
	IngressPod       = "ingress-controller" // with a number after it
	IngressHTTP      = 80
	IngressHTTPS     = 443
)

// Controller is the ingress controller of a lab.
type Controller struct {
	ProxyProtocol bool
	Origin        Origin
}

// PathType says how the path of an ingress is compared with that of a request.
type PathType string

// The path types.
const (
	PathExact                  PathType = "Exact"
	PathPrefix                 PathType = "Prefix"
	ImplementationSpecificPath PathType = "ImplementationSpecific" // here as Prefix
)

// Ingress is a Kubernetes Ingress.
type Ingress struct {
	Name      string
	Written   Written
	Namespace string
	Labels    map[string]string
	Class     string // the controller of a lab serves every class
	Default   *Backend
	Rules     []IngressRule
	TLS       []IngressTLS
	Origin    Origin
}

// IngressRule is the paths of a host.
type IngressRule struct {
	Host  string // "": any; *.example: one label more
	Paths []IngressPath
}

// IngressPath is a path and where its requests go.
type IngressPath struct {
	Path    string
	Type    PathType
	Backend Backend
	Origin  Origin
}

// HTTPRoute is an HTTPRoute of the Gateway API.
type HTTPRoute struct {
	Name      string
	Written   Written
	Namespace string
	Labels    map[string]string
	Parents   []Parent
	Hostnames []string // none: any
	Rules     []HTTPRouteRule
	Attached  []Attachment // none: nothing serves it
	Origin    Origin
}

// HTTPRouteRule is requests that match any of some conditions, and where they go.
type HTTPRouteRule struct {
	Matches  []HTTPRouteMatch // at least one
	Filters  HTTPFilters
	Backends []Backend // none with a redirect; else none is status 500
}

// HTTPRouteMatch is what a request must have, all of it.
type HTTPRouteMatch struct {
	Path    string
	Type    PathType // Exact, PathPrefix or RegularExpression
	Method  string   // "": any
	Headers []ValueMatch
	Query   []ValueMatch
	Origin  Origin
}

// ValueMatch is a value that a header field or a query parameter must have.
type ValueMatch struct {
	Name, Value string
	Pattern     bool // the value is a regular expression (RE2) for all of it
}

// The path types that only the Gateway API has. The expression is RE2, for the whole path.
const (
	RoutePathPrefix   PathType = "PathPrefix"
	RouteRegularPath  PathType = "RegularExpression"
	RegularExpression          = string(RouteRegularPath) // also of values
)

// Backend is a port of a service.
type Backend struct {
	Service *Service
	Port    *ServicePort
	ByName  bool // the port is written by its name
	Weight  int  // its share of the requests
	// Refused: it is of another namespace than the route, and no grant allows that.
	Refused bool
}

// IngressTLS is hosts that have a certificate.
type IngressTLS struct {
	Hosts      []string
	SecretName string
}

// CertificateCovers reports whether a certificate for a name, perhaps with a wildcard, is one
// for a host of an ingress.
func CertificateCovers(name, host string) bool {
	if name == host {
		return true
	}
	_, rest, dotted := strings.Cut(host, ".")
	return dotted && name == "*."+rest
}

// IngressHosts are the hosts of all ingresses and routes, without wildcards, each once, in the order of
// the lab.
func (l *Lab) IngressHosts() []string {
	var hosts []string
	seen := map[string]bool{}
	add := func(host string) {
		if host != "" && host[0] != '*' && !seen[host] {
			seen[host] = true
			hosts = append(hosts, host)
		}
	}
	for _, i := range l.Ingresses {
		for _, r := range i.Rules {
			add(r.Host)
		}
	}
	for _, r := range l.HTTPRoutes {
		for _, a := range r.Attached {
			add(a.Host)
		}
	}
	return hosts
}

// IngressAddrs is where clients find the ingress controller, and the ports that it has there:
// the addresses of its load balancer, else the external ones of its service, else those of a
// node that runs one, if the service has node ports or the controller the network of its node,
// else the cluster IPs. They are what the hosts of ingresses resolve to.
func (l *Lab) IngressAddrs() (addrs []netip.Addr, ports []Port) {
	i := slices.IndexFunc(l.Services, func(s *Service) bool { return s.Namespace == IngressNamespace && s.Name == IngressService })
	if l.Controller == nil || i < 0 {
		return nil, nil
	}
	s := l.Services[i]
	of := func(number func(*ServicePort) uint16) {
		for _, p := range s.Ports {
			ports = append(ports, Port{Name: p.Name, Number: number(p), Protocol: p.Protocol})
		}
	}
	pod := First(l.Pods, func(p *Pod) bool { return p.Ingress })
	for _, b := range s.LoadBalancers {
		addrs = append(addrs, b.Addr)
	}
	if len(addrs) == 0 {
		addrs = s.ExternalIPs
	}
	switch {
	case len(addrs) > 0:
	case pod != nil && pod.HostNetwork:
		return pod.Node.Addrs, pod.Ports
	case pod != nil && s.Type == NodePort:
		of(func(p *ServicePort) uint16 { return p.NodePort })
		return pod.Node.Addrs, ports
	default:
		addrs = s.ClusterIPs
	}
	of(func(p *ServicePort) uint16 { return p.Port })
	return addrs, ports
}
