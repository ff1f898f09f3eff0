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

func (p *printer) route(s topology.HTTPRouteSpec) {
	p.object("http_route", s.Name, s.Written, func() {
		p.namespace(s.Namespace)
		p.labels("labels", s.Labels)
		p.text("gateway", s.Gateway)
		p.texts("hostnames", s.Hostnames)
		for _, r := range s.Rules {
			p.block("rule", func() {
				for _, m := range r.Matches {
					p.block("match", func() {
						p.text("path", m.Path)
						p.text("path_type", m.Type)
						p.text("method", m.Method)
						p.labels("headers", m.Headers)
					})
				}
				for _, b := range r.Backends {
					p.block("backend", func() {
						p.backend(b, s.Namespace)
						p.number("weight", b.Weight)
					})
				}
			})
		}
	})
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
