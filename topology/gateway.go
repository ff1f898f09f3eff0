package topology

import (
	"slices"
	"strings"
)

// GatewaySpec is a gateway block.
type GatewaySpec struct {
	Name      string
	Written   Written
	Namespace Opt[string]
	Labels    map[string]string
	Class     Opt[string]
	Listeners []ListenerSpec
	Origin    Origin
}

// ListenerSpec is a listener block.
type ListenerSpec struct {
	Name            string
	Port            Opt[int]
	Protocol        Opt[string]
	Hostname        Opt[string]
	Certificates    Opt[[]string]
	RoutesFrom      Opt[string]
	NamespaceLabels map[string]string
	Origin          Origin
}

// ParentSpec is a gateway, or one of its listeners, that a route is to be attached to.
type ParentSpec struct {
	Gateway, Namespace, Listener Opt[string]
	Port                         Opt[int]
	Origin                       Origin
}

// Gateway is a Gateway of the Gateway API. The controller of a lab serves all of them.
type Gateway struct {
	Name      string
	Written   Written
	Namespace string
	Labels    map[string]string
	Class     string
	Listeners []Listener
	Origin    Origin
}

// GatewayClass is the class of gateways that name no other.
const GatewayClass = "netlab"

// Listener is a port of a gateway, perhaps for some hosts only.
type Listener struct {
	Name            string
	TLS             bool   // HTTPS on port 443, else HTTP on port 80
	Hostname        string // "": any; *.example: any number of labels more
	Certificates    []string
	RoutesFrom      RoutesFrom
	NamespaceLabels map[string]string // with RoutesSelector
}

// Port is that of the controller, and Protocol what is spoken there.
func (l *Listener) Port() int {
	if l.TLS {
		return IngressHTTPS
	}
	return IngressHTTP
}

// Protocol is what is spoken there.
func (l *Listener) Protocol() ListenerProtocol {
	if l.TLS {
		return ListenerHTTPS
	}
	return ListenerHTTP
}

// ListenerProtocol is what a listener speaks.
type ListenerProtocol string

// The protocols of listeners that a controller has.
const (
	ListenerHTTP  ListenerProtocol = "HTTP"
	ListenerHTTPS ListenerProtocol = "HTTPS"
)

// RoutesFrom says of which namespaces routes may be attached to a listener.
type RoutesFrom string

// The namespaces whose routes may be attached.
const (
	RoutesSame     RoutesFrom = "Same" // that of the gateway
	RoutesAll      RoutesFrom = "All"
	RoutesSelector RoutesFrom = "Selector"
)

// Parent is a gateway, or one of its listeners, that a route is to be attached to.
type Parent struct {
	Gateway   string
	Namespace string // "": that of the route
	Listener  string // "": all
	Port      int    // 0: all
}

// Attachment is a listener that serves a route, and a host that both are for.
type Attachment struct {
	Host string           // "": any
	On   ListenerProtocol // "": both, in a lab without gateways
}

// CommonHost is the host that both of two are for: a name, a wildcard, or any if it is empty. A
// wildcard stands for any number of labels (Hostname in sigs.k8s.io/gateway-api/apis/v1).
func CommonHost(a, b string) (string, bool) {
	covers := func(wide, narrow string) bool {
		return wide == "" || wide == narrow || strings.HasPrefix(wide, "*.") && strings.HasSuffix(narrow, wide[1:])
	}
	switch {
	case covers(a, b):
		return b, true
	case covers(b, a):
		return a, true
	}
	return "", false
}

// ReferenceGrantSpec is a reference_grant block.
type ReferenceGrantSpec struct {
	Name      string
	Written   Written
	Namespace Opt[string]
	Labels    map[string]string
	From      Opt[[]string]
	Services  Opt[[]string]
	Origin    Origin
}

// ReferenceGrant is a ReferenceGrant of the Gateway API: the routes of some namespaces may lead to
// services of its own.
type ReferenceGrant struct {
	Name      string
	Written   Written
	Namespace string
	Labels    map[string]string
	From      []string
	Services  []string // none: all
	Origin    Origin
}

// Allows reports whether routes of a namespace may lead to a service.
func (g *ReferenceGrant) Allows(from string, to *Service) bool {
	return g.Namespace == to.Namespace && slices.Contains(g.From, from) && (len(g.Services) == 0 || slices.Contains(g.Services, to.Name))
}
