package printer

import "github.com/netlab/netlab/topology"

func (p *printer) ingress(s topology.IngressSpec) {
	p.object("ingress", s.Name, s.Written, func() {
		p.namespace(s.Namespace)
		p.labels("labels", s.Labels)
		p.text("ingress_class_name", s.Class)
		for _, r := range s.Rules {
			p.block("rule", func() {
				p.text("host", r.Host)
				for _, x := range r.Paths {
					p.block("path", func() {
						p.text("path", x.Path)
						p.text("path_type", x.Type)
						p.backend(x.Backend, s.Namespace)
					})
				}
			})
		}
		if s.Default != nil {
			p.block("default_backend", func() { p.backend(*s.Default, s.Namespace) })
		}
		for _, t := range s.TLS {
			p.block("tls", func() {
				p.texts("hosts", t.Hosts)
				p.text("secret_name", t.SecretName)
			})
		}
	})
}

func (p *printer) gateway(s topology.GatewaySpec) {
	p.object("gateway", s.Name, s.Written, func() {
		p.namespace(s.Namespace)
		p.labels("labels", s.Labels)
		p.text("gateway_class_name", s.Class)
		for _, l := range s.Listeners {
			p.block("listener "+quote(l.Name), func() {
				p.text("protocol", l.Protocol)
				p.number("port", l.Port)
				p.text("hostname", l.Hostname)
				p.texts("certificates", l.Certificates)
				p.text("routes_from", l.RoutesFrom)
				p.labels("namespace_labels", l.NamespaceLabels)
			})
		}
	})
}

func (p *printer) grant(s topology.ReferenceGrantSpec) {
	p.object("reference_grant", s.Name, s.Written, func() {
		p.namespace(s.Namespace)
		p.labels("labels", s.Labels)
		p.texts("from", s.From)
		p.texts("services", s.Services)
	})
}

func (p *printer) route(s topology.HTTPRouteSpec) {
	p.object("http_route", s.Name, s.Written, func() {
		p.namespace(s.Namespace)
		p.labels("labels", s.Labels)
		plain := len(s.Parents) == 1 && !s.Parents[0].Namespace.Set && !s.Parents[0].Listener.Set && !s.Parents[0].Port.Set
		if plain {
			p.text("gateway", s.Parents[0].Gateway)
		}
		p.texts("hostnames", s.Hostnames)
		for _, x := range s.Parents {
			if !plain {
				p.block("parent", func() {
					p.text("gateway", x.Gateway)
					p.text("namespace", x.Namespace)
					p.text("listener", x.Listener)
					p.number("port", x.Port)
				})
			}
		}
		for _, r := range s.Rules {
			p.block("rule", func() {
				for _, m := range r.Matches {
					p.block("match", func() {
						p.text("path", m.Path)
						p.text("path_type", m.Type)
						p.text("method", m.Method)
						p.labels("headers", m.Headers)
						p.labels("header_patterns", m.HeaderPatterns)
						p.labels("query", m.Query)
						p.labels("query_patterns", m.QueryPatterns)
					})
				}
				p.filters(r.Filters)
				for _, b := range r.Backends {
					p.block("backend", func() {
						of := s.Namespace
						if b.Namespace.Set {
							of = b.Namespace
						}
						p.backend(b, of)
						p.text("namespace", b.Namespace)
						p.number("weight", b.Weight)
					})
				}
			})
		}
	})
}

// filters are those of a rule.
func (p *printer) filters(f topology.HTTPFiltersSpec) {
	change := func(block string, s *topology.HeaderChangeSpec) {
		if s != nil {
			p.block(block, func() {
				p.labels("set", s.Set)
				p.labels("add", s.Add)
				p.texts("remove", s.Remove)
			})
		}
	}
	path := func(s topology.PathChangeSpec) {
		p.text("path", s.Full)
		p.text("prefix", s.Prefix)
	}
	change("request_headers", f.RequestHeaders)
	change("response_headers", f.ResponseHeaders)
	if s := f.Redirect; s != nil {
		p.block("redirect", func() {
			p.text("scheme", s.Scheme)
			p.text("hostname", s.Hostname)
			p.number("port", s.Port)
			path(s.Path)
			p.number("status", s.Status)
		})
	}
	if s := f.Rewrite; s != nil {
		p.block("rewrite", func() {
			p.text("hostname", s.Hostname)
			path(s.Path)
		})
	}
}

// backend refers to the service of a namespace, or names one that there is not.
func (p *printer) backend(b topology.BackendSpec, namespace topology.Opt[string]) {
	name := quote(b.Service.Value)
	for _, s := range p.spec.Services {
		if s.Name == b.Service.Value && s.Namespace.Or(topology.DefaultNamespace) == namespace.Or(topology.DefaultNamespace) {
			name = ref("service", s.Written.Block, "")
		}
	}
	p.line("service = %s", name)
	p.port("port", b.Port)
}
