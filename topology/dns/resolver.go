package dns

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/zone"
	"github.com/netlab/netlab/topology"
)

// ndots is the option that the kubelet sets, so that short names are tried with the search path
// first (defaultDNSOptions in kubernetes/pkg/kubelet/network/dns).
const ndots = "5"

// Of is the resolver of a pod as the kubelet would configure it (GetPodDNS in
// kubernetes/pkg/kubelet/network/dns); false: it has that of its node, which knows no names of
// the cluster.
func Of(lab *topology.Lab, p *topology.Pod) (r zone.Resolver, ok bool) {
	if lab.DNS == nil {
		return r, false
	}
	policy := p.DNSPolicy
	if policy == topology.ClusterFirst && p.HostNetwork {
		policy = topology.DNSDefault
	}
	switch policy {
	case topology.ClusterFirst, topology.ClusterFirstWithHostNet:
		domain := lab.DNS.ClusterDomain
		r.Servers = slices.Clone(lab.DNS.Servers[:min(1, len(lab.DNS.Servers))])
		if a := lab.DNS.NodeLocal; a.IsValid() {
			r.Servers = []netip.Addr{a}
		}
		r.Search = []string{p.Namespace + ".svc." + domain, "svc." + domain, domain}
		r.Options = []zone.Option{{Name: "ndots", Value: ndots}}
	case topology.DNSDefault:
		c := p.DNSConfig
		if len(c.Nameservers)+len(c.Searches)+len(c.Options) == 0 {
			return r, false
		}
	}
	for _, a := range p.DNSConfig.Nameservers {
		if !slices.Contains(r.Servers, a) && len(r.Servers) < topology.MaxNameServers {
			r.Servers = append(r.Servers, a)
		}
	}
	for _, d := range p.DNSConfig.Searches {
		if !slices.Contains(r.Search, d) && len(r.Search) < topology.MaxSearch {
			r.Search = append(r.Search, d)
		}
	}
	for _, o := range p.DNSConfig.Options {
		i := slices.IndexFunc(r.Options, func(x zone.Option) bool { return x.Name == o.Name })
		if i < 0 {
			r.Options = append(r.Options, zone.Option(o))
		} else {
			r.Options[i] = zone.Option(o)
		}
	}
	return r, true
}

// Hosts is /etc/hosts of a pod that asks name servers: itself, as the kubelet writes it.
func Hosts(p *topology.Pod) string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n::1 localhost\n")
	for _, a := range p.Addrs {
		fmt.Fprintf(&b, "%s %s\n", a, p.Name)
	}
	return b.String()
}
