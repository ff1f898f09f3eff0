package ingresses

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

const maxListeners = 64 // of a gateway (GatewaySpec in sigs.k8s.io/gateway-api/apis/v1)

// gateways resolves the gateways of a lab.
func (r *resolver) gateways() {
	seen := map[string]topology.Origin{}
	for i := range r.Spec.Gateways {
		s := &r.Spec.Gateways[i]
		r.Of("gateway", s.Written.Block, s.Written.Key)
		named := cmp.Or(s.Written.Named, s.Origin)
		x := &topology.Gateway{Name: s.Name, Written: s.Written, Namespace: r.Namespace(s.Namespace), Labels: draft.Labels(s.Labels), Class: s.Class.Or(topology.GatewayClass), Origin: s.Origin}
		if !draft.IsDNSSubdomain(s.Name) || strings.HasSuffix(s.Name, ".") {
			r.CheckName("gateway", s.Name, named)
		}
		if !r.Unique(seen, "gateway", x.Namespace+"/"+x.Name, named) {
			continue
		}
		if len(s.Listeners) == 0 {
			r.Warnf(draft.At(s.Origin), "Gateway without listeners", "No route can be attached to the gateway %q. Add listener \"http\" {}.", s.Name)
		}
		if len(s.Listeners) > maxListeners {
			r.Errorf(draft.At(s.Origin), "Too many listeners", "A gateway has %d listeners at most, and %q has %d. Remove some.", maxListeners, s.Name, len(s.Listeners))
		}
		names, hosts := map[string]topology.Origin{}, map[topology.Attachment]string{}
		for _, l := range s.Listeners {
			if l.Name == "" || !draft.IsDNSSubdomain(l.Name) {
				r.CheckName("listener", l.Name, l.Origin)
			}
			if !r.Unique(names, "listener", l.Name, l.Origin) {
				continue
			}
			one := r.listener(l)
			key := topology.Attachment{Host: one.Hostname, On: one.Protocol()}
			if other, taken := hosts[key]; taken {
				r.Errorf(draft.At(l.Origin), "Listener in conflict", "The listener %q has the protocol and the hostname of %q. Remove one of them.", l.Name, other)
			}
			hosts[key] = l.Name
			x.Listeners = append(x.Listeners, one)
		}
		r.Lab.Gateways = append(r.Lab.Gateways, x)
	}
	r.Of("gateway", "", "")
}

// listener resolves a listener.
func (r *resolver) listener(s topology.ListenerSpec) topology.Listener {
	known := []string{string(topology.ListenerHTTP), string(topology.ListenerHTTPS)}
	protocol := r.Enum(s.Protocol, "protocol", known[0], known, nil)
	out := topology.Listener{Name: s.Name, TLS: protocol == string(topology.ListenerHTTPS), Hostname: s.Hostname.Value, Certificates: slices.Clone(s.Certificates.Value), NamespaceLabels: maps.Clone(s.NamespaceLabels)}
	if want := out.Port(); s.Port.Set && s.Port.Value != want {
		r.Errorf(draft.At(s.Port.Origin), "No such port", "The ingress controller of a lab listens on port %d for %s, and not on %d. Use %d, or another protocol.", want, protocol, s.Port.Value, want)
	}
	r.host(s.Hostname)
	switch {
	case out.TLS && len(out.Certificates) == 0:
		r.Errorf(draft.At(s.Certificates.Origin, s.Origin), "Listener without certificate", "The listener %q speaks HTTPS, for which it needs a certificate. Add certificates = [\"NAME\"]: in a lab it is generated.", s.Name)
	case !out.TLS && len(out.Certificates) > 0:
		r.Errorf(draft.At(s.Certificates.Origin), "Certificate without TLS", "The listener %q speaks HTTP, which has no certificates. Write protocol = \"HTTPS\", or remove it.", s.Name)
	}
	from := []string{string(topology.RoutesSame), string(topology.RoutesAll), string(topology.RoutesSelector)}
	out.RoutesFrom = topology.RoutesFrom(r.Enum(s.RoutesFrom, "value of routes_from", from[0], from, nil))
	if (out.RoutesFrom == topology.RoutesSelector) != (len(out.NamespaceLabels) > 0) {
		r.Errorf(draft.At(s.RoutesFrom.Origin, s.Origin), "Which namespaces?", "Only with routes_from = \"Selector\" does a listener select the namespaces of its routes, by namespace_labels. Write both or none.")
	}
	return out
}

// attach decides which listeners serve a route: all of the controller where a lab has no gateway.
func (r *resolver) attach(x *topology.HTTPRoute, s *topology.HTTPRouteSpec) {
	hosts := x.Hostnames
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	if len(r.Spec.Gateways) == 0 {
		for _, h := range hosts {
			x.Attached = append(x.Attached, topology.Attachment{Host: h})
		}
		return
	}
	if len(s.Parents) == 0 {
		r.Warnf(draft.At(s.Origin), "Route without gateway", "Nothing serves the http_route %q: this lab has gateways, and it names none. Add gateway = %q.", x.Name, r.Spec.Gateways[0].Name)
	}
	for i, p := range x.Parents {
		if s.Parents[i].Gateway.Set {
			r.attachTo(x, p, s.Parents[i], hosts)
		}
	}
}

func (r *resolver) attachTo(x *topology.HTTPRoute, p topology.Parent, s topology.ParentSpec, hosts []string) {
	namespace := cmp.Or(p.Namespace, x.Namespace)
	var g *topology.Gateway
	var names []string
	for _, one := range r.Lab.Gateways {
		if one.Namespace != namespace {
			continue
		}
		if names = append(names, one.Name); one.Name == p.Gateway {
			g = one
		}
	}
	at := draft.At(s.Gateway.Origin, s.Origin)
	if g == nil {
		r.Warnf(at, "No such gateway", "There is no gateway %q in namespace %s, so it does not serve the http_route %q.%s Declare it, or name another one.", draft.Shorten(p.Gateway), namespace, x.Name, topology.DidYouMean(p.Gateway, names))
		return
	}
	why := "it has no such listener"
	attached := false
	for _, l := range g.Listeners {
		if p.Listener != "" && p.Listener != l.Name || p.Port != 0 && p.Port != l.Port() {
			continue
		}
		if !r.allows(g, l, x.Namespace) {
			why = "it takes no routes of namespace " + x.Namespace
			continue
		}
		why = "it has other hosts"
		for _, h := range hosts {
			if common, ok := topology.CommonHost(l.Hostname, h); ok {
				attached = true
				if a := (topology.Attachment{Host: common, On: l.Protocol()}); !slices.Contains(x.Attached, a) {
					x.Attached = append(x.Attached, a)
				}
			}
		}
	}
	if !attached {
		r.Warnf(at, "Route not attached", "The gateway %q does not serve the http_route %q: %s. Change a listener of the gateway, or the route.", g.Name, x.Name, why)
	}
}

// allows reports whether routes of a namespace may be attached to a listener.
func (r *resolver) allows(g *topology.Gateway, l topology.Listener, namespace string) bool {
	switch l.RoutesFrom {
	case topology.RoutesAll:
		return true
	case topology.RoutesSame:
		return g.Namespace == namespace
	}
	for _, n := range r.Lab.Namespaces {
		if n.Name != namespace {
			continue
		}
		for k, v := range l.NamespaceLabels {
			if n.Labels[k] != v {
				return false
			}
		}
		return true
	}
	return false
}

// grants resolves those of a lab.
func (r *resolver) grants() {
	seen := map[string]topology.Origin{}
	for i := range r.Spec.Grants {
		s := &r.Spec.Grants[i]
		r.Of("reference_grant", s.Written.Block, s.Written.Key)
		named := cmp.Or(s.Written.Named, s.Origin)
		x := &topology.ReferenceGrant{Name: s.Name, Written: s.Written, Namespace: r.Namespace(s.Namespace), Labels: draft.Labels(s.Labels), From: slices.Clone(s.From.Value), Services: slices.Clone(s.Services.Value), Origin: s.Origin}
		if !draft.IsDNSSubdomain(s.Name) || strings.HasSuffix(s.Name, ".") {
			r.CheckName("reference_grant", s.Name, named)
		}
		if !r.Unique(seen, "reference_grant", x.Namespace+"/"+x.Name, named) {
			continue
		}
		if len(x.From) == 0 {
			r.Errorf(draft.At(s.From.Origin, s.Origin), "Grant for nobody", "The reference_grant %q allows nothing. Add from = [namespace.NAME], whose routes may lead to its services.", s.Name)
		}
		for _, service := range x.Services {
			if !slices.ContainsFunc(r.Lab.Services, func(sv *topology.Service) bool { return sv.Namespace == x.Namespace && sv.Name == service }) {
				r.Warnf(draft.At(s.Services.Origin), "No such service", "There is no service %q in namespace %s, which this grant is for. Declare it, or name another one.", draft.Shorten(service), x.Namespace)
			}
		}
		r.Lab.Grants = append(r.Lab.Grants, x)
	}
	r.Of("reference_grant", "", "")
}
