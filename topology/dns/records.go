package dns

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/origin"
	"github.com/netlab/netlab/datapath/plan/zone"
	"github.com/netlab/netlab/topology"
)

// schema is the version of the specification (section 2.2).
const schema = "1.1.0"

// weight is that of all SRV records of a name: any client may choose any of them.
const weight = 100

// primary is before the name of a zone in that of the server that its SOA record names.
const primary = "ns.dns."

// Records are those that the name servers of a lab have, sorted.
func Records(lab *topology.Lab) []zone.Record {
	w := &writer{domain: lab.Domain(), taken: map[zone.Record]bool{}}
	w.add(zone.Record{Name: "dns-version." + w.domain, Type: zone.TXT, Value: schema})
	w.zones(lab)
	// Of several with one name, the first counts, as in expectations.
	plain := map[string]bool{}
	outside := func(kind, name string, o topology.Origin, addrs []netip.Addr) {
		w.origin = originOf(kind, name, o)
		if !plain[name] {
			w.addresses(name, addrs...)
		}
		plain[name] = true
	}
	for _, n := range lab.Nodes {
		outside("node", n.Name, n.Origin, n.Addrs)
	}
	for _, c := range lab.Clients {
		outside("client", c.Name, c.Origin, c.Addrs)
	}
	for _, r := range lab.Routers {
		outside("router", r.Name, r.Origin, r.Addrs())
	}
	addrs, _ := lab.IngressAddrs()
	for _, host := range lab.IngressHosts() {
		outside("ingress host", host, lab.Controller.Origin, addrs)
	}
	for _, p := range lab.Pods {
		w.origin = originOf("pod", p.AgentName(), p.Origin)
		for _, a := range p.Addrs {
			w.addresses(dashed(a)+"."+p.Namespace+".pod."+w.domain, a)
		}
	}
	for _, s := range lab.Services {
		w.service(s)
	}
	slices.SortFunc(w.records, zone.Record.Compare)
	return w.records
}

// zones adds the records of the zones themselves, as CoreDNS makes them with its plugin kubernetes
// for the zones that kubeadm gives it (plugin/kubernetes/ns.go; plugin.SOA): the name servers of
// the domain are the services with their addresses.
func (w *writer) zones(lab *topology.Lab) {
	if lab.DNS == nil {
		return
	}
	w.origin = originOf("dns", w.domain, lab.DNS.Origin)
	for _, name := range []string{w.domain, "in-addr.arpa", "ip6.arpa"} {
		w.add(zone.Record{Name: name, Type: zone.SOA, Value: primary + name})
	}
	for _, s := range lab.Services {
		if slices.ContainsFunc(s.ClusterIPs, func(a netip.Addr) bool { return slices.Contains(lab.DNS.Servers, a) }) {
			w.add(zone.Record{Name: w.domain, Type: zone.NS, Value: FQDN(s.Name, s.Namespace, w.domain)})
		}
	}
	w.addresses(primary+w.domain, lab.DNS.Servers...)
}

func originOf(kind, name string, o topology.Origin) origin.Ref {
	return origin.Ref{Object: kind + " " + name, File: o.File, Line: o.Line}
}

// writer collects records, each once.
type writer struct {
	domain  string
	origin  origin.Ref // of the records that follow
	records []zone.Record
	taken   map[zone.Record]bool
}

func (w *writer) add(r zone.Record) {
	if w.taken[r] {
		return
	}
	w.taken[r] = true
	r.Origin = w.origin
	w.records = append(w.records, r)
}

// addresses adds the addresses of a name.
func (w *writer) addresses(name string, addrs ...netip.Addr) {
	for _, a := range addrs {
		of := zone.A
		if a.Is6() {
			of = zone.AAAA
		}
		w.add(zone.Record{Name: name, Type: of, Value: a.String()})
	}
}

// service adds the records of a service: sections 2.3 (cluster IP), 2.4 (headless) and 2.5
// (external name).
func (w *writer) service(s *topology.Service) {
	w.origin = originOf("service", inNamespace(s), s.Origin)
	name := FQDN(s.Name, s.Namespace, w.domain)
	if s.Type == topology.ExternalName {
		w.add(zone.Record{Name: name, Type: zone.CNAME, Value: strings.ToLower(strings.TrimSuffix(s.ExternalName, "."))})
		return
	}
	for _, a := range s.ClusterIPs {
		w.addresses(name, a)
		w.add(zone.Record{Name: Reverse(a), Type: zone.PTR, Value: name})
	}
	for _, p := range s.Ports {
		at := fmt.Sprintf("_%s._%s.%s", p.Name, p.Protocol, name)
		if len(s.ClusterIPs) > 0 {
			w.srv(p, zone.Record{Name: at, Value: name, Port: p.Port})
			continue
		}
		for _, e := range p.Endpoints {
			if one, is := w.endpoint(s, name, e); is {
				w.srv(p, zone.Record{Name: at, Value: one, Port: e.Addr.Port()})
			}
		}
	}
	for _, e := range s.Portless {
		w.endpoint(s, name, e)
	}
}

// endpoint adds the addresses of a headless service at an endpoint, and returns the name of the
// endpoint itself, unless it is not ready: publish_not_ready_addresses makes endpoints ready.
func (w *writer) endpoint(s *topology.Service, name string, e *topology.Endpoint) (one string, is bool) {
	if !e.Ready {
		return "", false
	}
	a := e.Addr.Addr()
	one = cmp.Or(e.HostnameIn(s), dashed(a)) + "." + name
	w.addresses(name, a)
	w.addresses(one, a)
	w.add(zone.Record{Name: Reverse(a), Type: zone.PTR, Value: one})
	return one, true
}

// srv adds the record of a port, which must have a name.
func (w *writer) srv(p *topology.ServicePort, r zone.Record) {
	if p.Name != "" {
		r.Type, r.Weight = zone.SRV, weight
		w.add(r)
	}
}

func inNamespace(s *topology.Service) string {
	if s.Namespace == topology.DefaultNamespace {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// FQDN is the full name of a service.
func FQDN(name, namespace, domain string) string { return name + "." + namespace + ".svc." + domain }

// dashed is an address as a label: 10-244-1-2, or 2001-db8--1. CoreDNS calls endpoints so that
// have no hostname.
func dashed(a netip.Addr) string {
	return strings.Map(func(c rune) rune {
		if c == '.' || c == ':' {
			return '-'
		}
		return c
	}, a.String())
}

// Reverse is the name under which the name of an address is found (RFC 1035, section 3.5; RFC
// 3596, section 2.5).
func Reverse(a netip.Addr) string {
	var labels []string
	if a.Is4() {
		for _, b := range a.As4() {
			labels = append(labels, fmt.Sprint(b))
		}
		slices.Reverse(labels)
		return strings.Join(labels, ".") + ".in-addr.arpa"
	}
	for _, b := range a.As16() {
		labels = append(labels, fmt.Sprintf("%x", b>>4), fmt.Sprintf("%x", b&15))
	}
	slices.Reverse(labels)
	return strings.Join(labels, ".") + ".ip6.arpa"
}
