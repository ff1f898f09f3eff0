package language

import (
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// What the blocks of ingresses may hold.

// controllerTable is the ingress controller of the lab.
func controllerTable(c *topology.ControllerSpec) blocks.Schema {
	return blocks.Schema{Kind: "ingress_controller block", Blocks: []blocks.Nested{
		blocks.Plain("service", "The service before the controller, of type LoadBalancer unless it says otherwise.", func() blocks.Schema { return controllerServiceTable(&c.Service) }),
	}, Attrs: []blocks.Attribute{
		{At: &c.Replicas, Name: "replicas", Default: "1", Means: "The number of controllers, which are the pods ingress-controller-0 and so on of namespace ingress."},
		{At: blocks.NamesOf("node", &c.Nodes), Name: "nodes", Means: "The nodes that have one controller each, instead of replicas."},
		{At: &c.HostNetwork, Name: "host_network", Default: `false`, Means: "Whether the controllers use the network of their nodes, and so answer on ports 80 and 443 of these."},
		{At: &c.ProxyProtocol, Name: "proxy_protocol", Default: `false`, Means: "Whether every connection begins with a header of the PROXY protocol, version 1 or 2, by which a load balancer names its client."},
	}}
}

// controllerServiceTable is what the service of the controller may say: the rest follows.
func controllerServiceTable(s *topology.ServiceSpec) blocks.Schema {
	t := serviceTable(s)
	t.Kind = "service of the ingress controller"
	own := []string{"type", "cluster_ip", "external_ips", "load_balancer_ip", "load_balancer_source_ranges", "external_traffic_policy", "internal_traffic_policy", "health_check_node_port", "port", "load_balancer"}
	t.Attrs = slices.DeleteFunc(t.Attrs, func(a blocks.Attribute) bool { return !slices.Contains(own, a.Name) })
	for i := range t.Attrs {
		if t.Attrs[i].Name == "type" {
			t.Attrs[i].Default = strconv.Quote(string(topology.LoadBalancer))
		}
	}
	t.Blocks = slices.DeleteFunc(t.Blocks, func(b blocks.Nested) bool { return !slices.Contains(own, b.Name) })
	for i := range t.Blocks {
		if t.Blocks[i].Name == "port" {
			t.Blocks[i] = blocks.Labeled("port", "The port http or https.", func() blocks.Schema { return controllerPortTable(new(topology.ServicePortSpec)) })
		}
	}
	return t
}

// controllerPortTable is what a port of that service may say.
func controllerPortTable(s *topology.ServicePortSpec) blocks.Schema {
	return blocks.Schema{Kind: "port of the ingress controller", Attrs: []blocks.Attribute{
		{At: &s.Port, Name: "port", Means: "The port of the service, by default 80 or 443."},
		{At: &s.NodePort, Name: "node_port", Means: "The port of the nodes; netlab chooses one if it is not set."},
	}}
}

// ingressTable is a Kubernetes Ingress.
func ingressTable(s *topology.IngressSpec) blocks.Schema {
	return blocks.Schema{Kind: "ingress", Blocks: []blocks.Nested{
		blocks.Plain("rule", "The paths of a host.", func() blocks.Schema { return ingressRuleTable(new(topology.IngressRuleSpec)) }),
		blocks.Plain("default_backend", "Where requests go that no rule of any ingress matches.", func() blocks.Schema { return backendTable("default_backend block", new(topology.BackendSpec)) }),
		blocks.Plain("tls", "Hosts that are served with TLS, too, by certificates that clients in the lab trust.", func() blocks.Schema { return ingressTLSTable(new(topology.IngressTLSSpec)) }),
	}, Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: blocks.NameOf("namespace", &s.Namespace), Name: "namespace", Default: `"default"`, Means: "The namespace of the ingress, and of the services that it leads to."},
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
		{At: &s.Class, Name: "ingress_class_name", Means: "The class of the ingress; the controller of a lab serves every class."},
	})}
}

// ingressRuleTable is the paths of a host.
func ingressRuleTable(s *topology.IngressRuleSpec) blocks.Schema {
	return blocks.Schema{Kind: "rule of an ingress", Blocks: []blocks.Nested{
		blocks.Plain("path", "A path, and the service that its requests go to.", func() blocks.Schema { return ingressPathTable(new(topology.IngressPathSpec)) }),
	}, Attrs: []blocks.Attribute{
		{At: &s.Host, Name: "host", Means: "The host of the requests, such as \"shop.example\", or \"*.example\" for one label more, which a written host takes precedence over; any if it is not set."},
	}}
}

// ingressPathTable is a path and where its requests go.
func ingressPathTable(s *topology.IngressPathSpec) blocks.Schema {
	t := backendTable("path of an ingress", &s.Backend)
	t.Attrs = append([]blocks.Attribute{
		{At: &s.Path, Name: "path", Default: `"/"`, Means: "The path of the requests; the longest that matches is taken."},
		{At: &s.Type, Name: "path_type", Default: `"Prefix"`, Means: "How the path is compared: Prefix, element by element; Exact; or ImplementationSpecific, here as Prefix."},
	}, t.Attrs...)
	return t
}

// backendTable is a port of a service.
func backendTable(kind string, s *topology.BackendSpec) blocks.Schema {
	return blocks.Schema{Kind: kind, Attrs: []blocks.Attribute{
		{At: blocks.Reported(&s.Service, "service", serviceName), Name: "service", Means: "The service, of the namespace of the ingress."},
		{At: blocks.Noted(&s.Port, "port number or name", portOf), Name: "port", Means: "The port of the service, by number or name, where it has several."},
	}}
}

// ingressTLSTable is hosts that have a certificate.
func ingressTLSTable(s *topology.IngressTLSSpec) blocks.Schema {
	return blocks.Schema{Kind: "tls block", Attrs: []blocks.Attribute{
		{At: &s.Hosts, Name: "hosts", Means: "The hosts that the certificate is for."},
		{At: &s.SecretName, Name: "secret_name", Means: "The secret that has the certificate in a cluster; in a lab it is generated."},
	}}
}

// httpRouteTable is an HTTPRoute of the Gateway API.
func httpRouteTable(s *topology.HTTPRouteSpec) blocks.Schema {
	return blocks.Schema{Kind: "http_route", Blocks: []blocks.Nested{
		blocks.Plain("parent", "A gateway, or one of its listeners, that the route is attached to.", func() blocks.Schema { return parentTable(new(topology.ParentSpec)) }),
		blocks.Plain("rule", "Requests that match, and where they go.", func() blocks.Schema { return httpRouteRuleTable() }),
	}, Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: blocks.NameOf("namespace", &s.Namespace), Name: "namespace", Default: `"default"`, Means: "The namespace of the route, and of the services that it leads to."},
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
		{At: gatewayOf(s), Name: "gateway", Means: "The gateway of the namespace that the route is attached to, if it is one; in a lab without gateways that is the ingress controller, whatever the name is."},
		{At: &s.Hostnames, Name: "hostnames", Means: "The hosts of the requests, all if none is given; \"*.example\" stands for any number of labels more."},
	})}
}

// gatewayOf is the only gateway of a route, as an attribute.
func gatewayOf(s *topology.HTTPRouteSpec) blocks.Value {
	return blocks.Value{Type: "string", Read: func(l *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
		if name := l.Text(a, sc); name.Set {
			s.Parents = append(s.Parents, topology.ParentSpec{Gateway: name, Origin: name.Origin})
		}
	}}
}

// parentTable is a gateway that a route is attached to.
func parentTable(s *topology.ParentSpec) blocks.Schema {
	return blocks.Schema{Kind: "parent of a route", Attrs: []blocks.Attribute{
		{At: &s.Gateway, Name: "gateway", Required: true, Means: "The name of the gateway."},
		{At: blocks.NameOf("namespace", &s.Namespace), Name: "namespace", Means: "The namespace of the gateway; by default that of the route."},
		{At: &s.Listener, Name: "listener", Means: "The listener of the gateway; all if it is not set."},
		{At: &s.Port, Name: "port", Means: "The port of its listeners, 80 or 443; both if it is not set."},
	}}
}

// gatewayTable is a Gateway of the Gateway API.
func gatewayTable(s *topology.GatewaySpec) blocks.Schema {
	return blocks.Schema{Kind: "gateway", Blocks: []blocks.Nested{
		blocks.Labeled("listener", "A port of the gateway, for all hosts or some.", func() blocks.Schema { return listenerTable(new(topology.ListenerSpec)) }),
	}, Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: blocks.NameOf("namespace", &s.Namespace), Name: "namespace", Default: `"default"`, Means: "The namespace of the gateway."},
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
		{At: &s.Class, Name: "gateway_class_name", Default: strconv.Quote(topology.GatewayClass), Means: "The class of the gateway; the controller of a lab serves every class."},
	})}
}

// listenerTable is a listener of a gateway.
func listenerTable(s *topology.ListenerSpec) blocks.Schema {
	return blocks.Schema{Kind: "listener of a gateway", Attrs: []blocks.Attribute{
		{At: &s.Protocol, Name: "protocol", Default: `"HTTP"`, Means: "HTTP, or HTTPS, which ends in the controller, with certificates that clients in the lab trust, for the hosts of routes."},
		{At: &s.Port, Name: "port", Means: "80 for HTTP and 443 for HTTPS."},
		{At: &s.Hostname, Name: "hostname", Means: "The host of the requests, any if it is not set; \"*.example\" stands for any number of labels more, and a route is served for the hosts that both name."},
		{At: &s.Certificates, Name: "certificates", Means: "The secrets that have the certificates in a cluster; in a lab they are generated."},
		{At: &s.RoutesFrom, Name: "routes_from", Default: `"Same"`, Means: "The namespaces whose routes may be attached: Same, that of the gateway; All; or Selector, by namespace_labels."},
		{At: &s.NamespaceLabels, Name: "namespace_labels", Means: "The labels of those namespaces."},
	}}
}

// grantTable is a ReferenceGrant of the Gateway API.
func grantTable(s *topology.ReferenceGrantSpec) blocks.Schema {
	return blocks.Schema{Kind: "reference_grant", Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: blocks.NameOf("namespace", &s.Namespace), Name: "namespace", Default: `"default"`, Means: "The namespace of the services."},
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
		{At: blocks.NamesOf("namespace", &s.From), Name: "from", Required: true, Means: "The namespaces whose routes may lead to these services."},
		{At: blocks.NamesOf("service", &s.Services), Name: "services", Means: "The services; all of the namespace if it is not set."},
	})}
}

// evalGrants reads the reference_grant blocks.
func (l *loader) evalGrants() {
	for b := range l.Objects("reference_grant") {
		s := topology.ReferenceGrantSpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		l.Read(b, grantTable(&s))
		l.spec.Grants = append(l.spec.Grants, s)
	}
}

// evalGateways reads the gateway blocks.
func (l *loader) evalGateways() {
	for b := range l.Objects("gateway") {
		s := topology.GatewaySpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		for _, lb := range l.Read(b, gatewayTable(&s)).Named("listener") {
			one := topology.ListenerSpec{Name: lb.Label, Origin: lb.Origin()}
			l.Read(lb, listenerTable(&one))
			s.Listeners = append(s.Listeners, one)
		}
		l.spec.Gateways = append(l.spec.Gateways, s)
	}
}

// httpRouteRuleTable is a rule of a route.
func httpRouteRuleTable() blocks.Schema {
	return blocks.Schema{Kind: "rule of a route", Blocks: []blocks.Nested{
		blocks.Plain("match", "What requests must have, all of it; of several, one is enough.", func() blocks.Schema { return httpRouteMatchTable(new(topology.HTTPRouteMatchSpec)) }),
		blocks.Plain("request_headers", "What is changed of the header of the requests.", func() blocks.Schema {
			return headerChangeTable("request_headers block", new(topology.HeaderChangeSpec))
		}),
		blocks.Plain("response_headers", "What is changed of the header of the responses.", func() blocks.Schema {
			return headerChangeTable("response_headers block", new(topology.HeaderChangeSpec))
		}),
		blocks.Plain("redirect", "Where the controller sends the client instead of passing its requests on.", func() blocks.Schema { return redirectTable(new(topology.RedirectSpec)) }),
		blocks.Plain("rewrite", "What the backends are asked for instead.", func() blocks.Schema { return rewriteTable(new(topology.RewriteSpec)) }),
		blocks.Plain("backend", "A service that requests go to.", func() blocks.Schema { return routeBackendTable(new(topology.BackendSpec)) }),
	}}
}

// httpRouteMatchTable is a condition of a rule.
func httpRouteMatchTable(s *topology.HTTPRouteMatchSpec) blocks.Schema {
	return blocks.Schema{Kind: "match block", Attrs: []blocks.Attribute{
		{At: &s.Path, Name: "path", Default: `"/"`, Means: "The path of the requests; the longest that matches is taken."},
		{At: &s.Type, Name: "path_type", Default: `"PathPrefix"`, Means: "How the path is compared: PathPrefix, element by element; Exact; or RegularExpression (RE2), for all of it."},
		{At: &s.Method, Name: "method", Means: "The method of the requests, such as \"GET\"."},
		{At: &s.Headers, Name: "headers", Means: "Header fields of the requests and their exact values."},
		{At: &s.HeaderPatterns, Name: "header_patterns", Means: "Header fields and regular expressions (RE2) for all of their values."},
		{At: &s.Query, Name: "query", Means: "Query parameters of the requests and their exact values; of one that is there twice the first counts."},
		{At: &s.QueryPatterns, Name: "query_patterns", Means: "Query parameters and regular expressions (RE2) for all of their values."},
	}}
}

// routeBackendTable is a service that requests of a route go to.
func routeBackendTable(s *topology.BackendSpec) blocks.Schema {
	t := backendTable("backend of a route", s)
	t.Attrs = append(t.Attrs, blocks.Attribute{At: blocks.NameOf("namespace", &s.Namespace), Name: "namespace", Means: "The namespace of the service, if it is not that of the route; without a reference_grant there, requests get status 500."},
		blocks.Attribute{At: &s.Weight, Name: "weight", Default: `1`, Means: "Its share of the requests, relative to the other backends."})
	return t
}

// serviceName is the name of a service.
func serviceName(l *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) (out topology.Opt[string]) {
	blocks.NameOf("service", &out).Read(l, a, sc)
	return out
}

func portOf(l *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) topology.Opt[string] {
	return l.TargetPort(a, sc)
}

// evalController reads the ingress_controller block.
func (l *loader) evalController() {
	b := l.Single("ingress_controller")
	if b == nil {
		return
	}
	s := &l.spec.Controller
	s.Written, s.Origin = true, b.Origin()
	sb := l.Option(l.Read(b, controllerTable(s)), "service")
	if sb == nil {
		return
	}
	s.Service.Origin = sb.Origin()
	c := l.Read(sb, controllerServiceTable(&s.Service))
	l.loadBalancer(&s.Service, c)
	for _, pb := range c.Named("port") {
		p := topology.ServicePortSpec{Name: pb.Label, Origin: pb.Origin()}
		l.Read(pb, controllerPortTable(&p))
		if p.Name != "http" && p.Name != "https" {
			l.Errorf(pb.LabelRange, "No such port", "The ingress controller has the ports http and https, not %q.%s Use one of them.", p.Name, topology.DidYouMean(p.Name, []string{"http", "https"}))
			continue
		}
		s.Service.Ports = append(s.Service.Ports, p)
	}
}

// evalIngresses reads the ingress blocks.
func (l *loader) evalIngresses() {
	for b := range l.Objects("ingress") {
		s := topology.IngressSpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		c := l.Read(b, ingressTable(&s))
		if db := l.Option(c, "default_backend"); db != nil {
			s.Default = &topology.BackendSpec{Origin: db.Origin()}
			l.Read(db, backendTable("default_backend block", s.Default))
		}
		for _, rb := range c.Named("rule") {
			r := topology.IngressRuleSpec{Origin: rb.Origin()}
			for _, pb := range l.Read(rb, ingressRuleTable(&r)).Named("path") {
				p := topology.IngressPathSpec{Origin: pb.Origin(), Backend: topology.BackendSpec{Origin: pb.Origin()}}
				l.Read(pb, ingressPathTable(&p))
				r.Paths = append(r.Paths, p)
			}
			s.Rules = append(s.Rules, r)
		}
		for _, tb := range c.Named("tls") {
			t := topology.IngressTLSSpec{Origin: tb.Origin()}
			l.Read(tb, ingressTLSTable(&t))
			s.TLS = append(s.TLS, t)
		}
		l.spec.Ingresses = append(l.spec.Ingresses, s)
	}
}

// evalHTTPRoutes reads the http_route blocks.
func (l *loader) evalHTTPRoutes() {
	for b := range l.Objects("http_route") {
		s := topology.HTTPRouteSpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		of := l.Read(b, httpRouteTable(&s))
		for _, pb := range of.Named("parent") {
			p := topology.ParentSpec{Origin: pb.Origin()}
			l.Read(pb, parentTable(&p))
			s.Parents = append(s.Parents, p)
		}
		for _, rb := range of.Named("rule") {
			r := topology.HTTPRouteRuleSpec{Origin: rb.Origin()}
			c := l.Read(rb, httpRouteRuleTable())
			for _, mb := range c.Named("match") {
				m := topology.HTTPRouteMatchSpec{Origin: mb.Origin()}
				l.Read(mb, httpRouteMatchTable(&m))
				r.Matches = append(r.Matches, m)
			}
			l.filters(&r.Filters, c)
			for _, bb := range c.Named("backend") {
				to := topology.BackendSpec{Origin: bb.Origin()}
				l.Read(bb, routeBackendTable(&to))
				r.Backends = append(r.Backends, to)
			}
			s.Rules = append(s.Rules, r)
		}
		l.spec.HTTPRoutes = append(l.spec.HTTPRoutes, s)
	}
}

// What a rule of a route may change of requests and responses.

func headerChangeTable(kind string, s *topology.HeaderChangeSpec) blocks.Schema {
	return blocks.Schema{Kind: kind, Attrs: []blocks.Attribute{
		{At: &s.Set, Name: "set", Means: "Header fields and the only values that they then have."},
		{At: &s.Add, Name: "add", Means: "Header fields and the values that they have then, too."},
		{At: &s.Remove, Name: "remove", Means: "The names of header fields that are removed."},
	}}
}

func redirectTable(s *topology.RedirectSpec) blocks.Schema {
	return blocks.Schema{Kind: "redirect block", Attrs: append([]blocks.Attribute{
		{At: &s.Scheme, Name: "scheme", Means: "\"http\" or \"https\"; by default that of the request."},
		{At: &s.Hostname, Name: "hostname", Means: "The host; by default that of the request."},
		{At: &s.Port, Name: "port", Means: "The port; by default that of the scheme."},
		{At: &s.Status, Name: "status", Default: "302", Means: "The status of the response: 301, 302, 303, 307 or 308."},
	}, pathChangeAttributes(&s.Path)...)}
}

func rewriteTable(s *topology.RewriteSpec) blocks.Schema {
	return blocks.Schema{Kind: "rewrite block", Attrs: append([]blocks.Attribute{
		{At: &s.Hostname, Name: "hostname", Means: "The host that backends are asked for; by default that of the request."},
	}, pathChangeAttributes(&s.Path)...)}
}

func pathChangeAttributes(s *topology.PathChangeSpec) []blocks.Attribute {
	return []blocks.Attribute{
		{At: &s.Full, Name: "path", Means: "What stands for the whole path (ReplaceFullPath); the query stays."},
		{At: &s.Prefix, Name: "prefix", Means: "What stands for the prefix that the only match of the rule compares (ReplacePrefixMatch)."},
	}
}

// filters reads those of a rule.
func (l *loader) filters(f *topology.HTTPFiltersSpec, c *blocks.Content) {
	if b := l.Option(c, "request_headers"); b != nil {
		f.RequestHeaders = &topology.HeaderChangeSpec{Origin: b.Origin()}
		l.Read(b, headerChangeTable("request_headers block", f.RequestHeaders))
	}
	if b := l.Option(c, "response_headers"); b != nil {
		f.ResponseHeaders = &topology.HeaderChangeSpec{Origin: b.Origin()}
		l.Read(b, headerChangeTable("response_headers block", f.ResponseHeaders))
	}
	if b := l.Option(c, "redirect"); b != nil {
		f.Redirect = &topology.RedirectSpec{Origin: b.Origin()}
		l.Read(b, redirectTable(f.Redirect))
	}
	if b := l.Option(c, "rewrite"); b != nil {
		f.Rewrite = &topology.RewriteSpec{Origin: b.Origin()}
		l.Read(b, rewriteTable(f.Rewrite))
	}
}
