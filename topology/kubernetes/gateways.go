package kubernetes

import (
	"cmp"

	"github.com/netlab/netlab/topology"
)

const (
	gatewayAPI     = "gateway.networking.k8s.io/v1"
	controllerName = "netlab/ingress-controller"
)

// gateways adds gateways of the Gateway API, which the controller of a lab serves, whatever their
// class is. Listeners that it has not are lost.
func (c *converter) gateways() {
	twice := several(c.gws, func(x *gatewayObject) string { return x.Meta.Name.Value })
	for _, x := range c.gws {
		name := x.Meta.Name.Value
		label := c.label("gateway", x.namespace(), name, twice[name])
		c.carried(&x.header, "gateway."+label)
		s := topology.GatewaySpec{Name: name, Written: written(label, &x.header), Namespace: unless(x.Meta.Namespace, topology.DefaultNamespace),
			Labels: x.Meta.Labels, Class: unless(x.Spec.Class, topology.GatewayClass), Origin: x.at()}
		for _, l := range x.Spec.Listeners {
			protocol, at := topology.ListenerProtocol(l.Protocol.Value), cmp.Or(l.Name.Origin, l.Origin)
			port := map[topology.ListenerProtocol]int{topology.ListenerHTTP: topology.IngressHTTP, topology.ListenerHTTPS: topology.IngressHTTPS}[protocol]
			switch {
			case port == 0 || port != l.Port.Value:
				c.lose("gateway."+label, at, "listener %s: the controller of a lab listens on port %d for HTTP and on %d for HTTPS, not on %d for %s",
					l.Name.Value, topology.IngressHTTP, topology.IngressHTTPS, l.Port.Value, shorten(l.Protocol.Value))
				continue
			case l.TLS != nil && l.TLS.Mode.Set && l.TLS.Mode.Value != "Terminate":
				c.lose("gateway."+label, at, "listener %s: the controller of a lab ends TLS itself (tls.mode Terminate)", l.Name.Value)
				continue
			}
			one := topology.ListenerSpec{Name: l.Name.Value, Protocol: unless(l.Protocol, string(topology.ListenerHTTP)), Hostname: unless(l.Hostname, ""),
				RoutesFrom: unless(l.Allowed.Namespaces.From, string(topology.RoutesSame)), Origin: l.Origin}
			if l.TLS != nil {
				var names []str
				for _, ref := range l.TLS.Certificates {
					names = append(names, ref.Name)
				}
				one.Certificates = listed(names)
			}
			if sel := l.Allowed.Namespaces.Selector; sel != nil && one.RoutesFrom.Value == string(topology.RoutesSelector) {
				one.NamespaceLabels = sel.MatchLabels
			}
			s.Listeners = append(s.Listeners, one)
		}
		c.Gateways = append(c.Gateways, s)
	}
}

// gateways writes the gateways of a lab, and as a server their classes.
func (e *exporter) gateways(spec *topology.Spec, lab *topology.Lab, addresses []tree) {
	classes := map[string]bool{}
	for _, s := range spec.Gateways { // in their order
		for _, x := range lab.Gateways {
			if x.Name != s.Name || x.Namespace != s.Namespace.Or(topology.DefaultNamespace) {
				continue
			}
			if e.serves && !classes[x.Class] {
				classes[x.Class] = true
				e.object(gatewayAPI, "GatewayClass", fields("name", x.Class), "spec", fields("controllerName", controllerName),
					"status", fields("conditions", []tree{condition("Accepted", true)}))
			}
			e.gateway(x, addresses)
		}
	}
}

// gateway writes a gateway.
func (e *exporter) gateway(x *topology.Gateway, addresses []tree) {
	var listeners []tree
	for i := range x.Listeners {
		l := &x.Listeners[i]
		var secure, allowed tree
		var refs []tree
		for _, name := range l.Certificates {
			refs = append(refs, fields("name", name))
		}
		if l.TLS {
			secure = fields("mode", "Terminate", "certificateRefs", refs)
		}
		if e.serves || l.RoutesFrom != topology.RoutesSame {
			var selects tree
			if l.RoutesFrom == topology.RoutesSelector {
				selects = fields("matchLabels", l.NamespaceLabels)
			}
			allowed = fields("namespaces", fields("from", string(l.RoutesFrom), "selector", selects))
		}
		listeners = append(listeners, fields("name", l.Name, "hostname", l.Hostname, "port", l.Port(), "protocol", string(l.Protocol()), "tls", secure, "allowedRoutes", allowed))
	}
	var at []tree
	for _, a := range addresses {
		at = append(at, fields("type", "IPAddress", "value", a.text("ip")))
	}
	e.object(gatewayAPI, "Gateway", e.inNamespace(x.Name, x.Namespace, x.Labels), "spec", fields("gatewayClassName", x.Class, "listeners", listeners),
		"status", e.served("addresses", at, "conditions", []tree{condition("Accepted", true), condition("Programmed", true)}))
}

// The kinds that a grant of a lab is for.
const (
	grantFrom = "HTTPRoute"
	grantTo   = "Service"
)

// grants adds what lets routes lead to services of other namespaces; other grants are lost.
func (c *converter) grants() {
	twice := several(c.rgs, func(x *referenceGrant) string { return x.Meta.Name.Value })
	for _, x := range c.rgs {
		var from, to []str
		others := 0
		for _, f := range x.Spec.From {
			if f.Kind.Value == grantFrom {
				from = append(from, f.Namespace)
			} else {
				others++
			}
		}
		all := false
		for _, t := range x.Spec.To {
			switch {
			case t.Kind.Value != grantTo:
				others++
			case t.Name.Value == "":
				all = true
			default:
				to = append(to, t.Name)
			}
		}
		name := x.Meta.Name.Value
		if len(from) == 0 || len(to) == 0 && !all {
			c.lose("", x.at(), "ReferenceGrant %s: in a lab, grants let an HTTPRoute lead to a Service", name)
			continue
		}
		label := c.label("reference_grant", x.namespace(), name, twice[name])
		c.carried(&x.header, "reference_grant."+label)
		if others > 0 {
			c.lose("reference_grant."+label, x.at(), "its other kinds: in a lab, grants let an HTTPRoute lead to a Service")
		}
		if all {
			to = nil
		}
		c.Grants = append(c.Grants, topology.ReferenceGrantSpec{Name: name, Written: written(label, &x.header), Namespace: unless(x.Meta.Namespace, topology.DefaultNamespace),
			Labels: x.Meta.Labels, From: listed(from), Services: listed(to), Origin: x.at()})
	}
}

// grant writes a grant.
func (e *exporter) grant(x *topology.ReferenceGrant) {
	var from, to []tree
	for _, n := range x.From {
		from = append(from, fields("group", "gateway.networking.k8s.io", "kind", grantFrom, "namespace", n))
	}
	for _, n := range x.Services {
		to = append(to, tree{{"group", ""}, {"kind", grantTo}, {"name", n}})
	}
	if len(to) == 0 {
		to = []tree{{{"group", ""}, {"kind", grantTo}}}
	}
	e.object(gatewayAPI, "ReferenceGrant", e.inNamespace(x.Name, x.Namespace, x.Labels), "spec", fields("from", from, "to", to))
}
