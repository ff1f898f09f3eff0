package resolve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// podDNS resolves what a pod says about names: its own, and those that it looks up.
func (r *resolver) podDNS(p *topology.Pod, s topology.PodSpec) {
	p.NameServer = isNameServer(p)
	p.Ingress = isController(p)
	p.Hostname, p.Subdomain = s.Hostname.Value, s.Subdomain.Value
	for _, o := range []struct {
		what string
		topology.Opt[string]
	}{{"host", s.Hostname}, {"subdomain", s.Subdomain}} {
		if o.Set {
			r.CheckName(o.what, o.Value, o.Origin)
		}
	}
	policies := []string{string(topology.ClusterFirst), string(topology.ClusterFirstWithHostNet), string(topology.DNSDefault), string(topology.DNSNone)}
	p.DNSPolicy = topology.DNSPolicy(r.Enum(s.DNSPolicy, "DNS policy", string(topology.ClusterFirst), policies, nil))
	c := s.DNSConfig
	for _, o := range []struct {
		set bool
		at  topology.Origin
	}{{s.DNSPolicy.Set, s.DNSPolicy.Origin}, {c.Origin != (topology.Origin{}), c.Origin}} {
		if o.set && r.Lab.DNS == nil {
			r.Errorf(draft.At(o.at), "No name service", "The lab has no dns block, so that names are in /etc/hosts of every pod. Add dns {} to the scenario, or remove this.")
		}
	}
	p.DNSConfig = topology.DNSConfig{Nameservers: slices.Clone(c.Nameservers.Value), Searches: slices.Clone(c.Searches.Value), Options: r.dnsOptions(c.Options)}
	r.checkDNSConfig(p, c)
}

// checkDNSConfig reports what Kubernetes refuses (validatePodDNSConfig in
// kubernetes/pkg/apis/core/validation).
func (r *resolver) checkDNSConfig(p *topology.Pod, c topology.DNSConfigSpec) {
	if n := len(c.Nameservers.Value); n > topology.MaxNameServers {
		r.Errorf(draft.At(c.Nameservers.Origin), "Too many name servers", "A resolver asks %d name servers at most, and these are %d. Remove some.", topology.MaxNameServers, n)
	}
	if p.DNSPolicy == topology.DNSNone && len(c.Nameservers.Value) == 0 && c.Nameservers.Origin == (topology.Origin{}) {
		r.Errorf(draft.At(c.Origin, p.Origin), "No name server", "With DNS policy \"None\" the pod asks only the name servers that it lists, and needs at least one. Add dns_config { nameservers = [\"10.96.0.10\"] }.")
	}
	if n := len(c.Searches.Value); n > topology.MaxSearch {
		r.Errorf(draft.At(c.Searches.Origin), "Search path too long", "A search path has %d domains at most, and this one has %d. Remove some.", topology.MaxSearch, n)
	} else if n := len(strings.Join(c.Searches.Value, " ")); n > topology.MaxSearchChars {
		r.Errorf(draft.At(c.Searches.Origin), "Search path too long", "A search path has %d characters at most, and this one has %d. Remove some domains.", topology.MaxSearchChars, n)
	}
	for _, d := range c.Searches.Value {
		if d != "." && !draft.IsDNSSubdomain(strings.ReplaceAll(d, "_", "x")) {
			r.Errorf(draft.At(c.Searches.Origin), "Invalid domain", "%q is not a DNS domain: labels of a-z, 0-9, \"-\" and \"_\", joined by dots, up to 253 characters. Use one such as \"prod.svc.cluster.local\".", draft.Shorten(d))
		}
	}
}

// dnsOptions are the options of resolv.conf, each a name, or a name and a value.
func (r *resolver) dnsOptions(o topology.Opt[[]string]) (list []topology.DNSOption) {
	for _, text := range o.Value {
		name, value, valued := strings.Cut(text, ":")
		switch n, err := strconv.Atoi(value); {
		case name == "" || valued && value == "" || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }):
			r.Errorf(draft.At(o.Origin), "Invalid option", "%q is not an option of resolv.conf: a name, or a name and a value with a colon between them. Write one such as \"ndots:2\".", draft.Shorten(text))
		case name == "ndots" && (err != nil || n < 0 || n > 15):
			r.Errorf(draft.At(o.Origin), "Number out of range", "ndots is %s. Use a number from 0 to 15, such as \"ndots:2\".", fmt.Sprintf("%q", draft.Shorten(value)))
		default:
			list = append(list, topology.DNSOption{Name: name, Value: value})
		}
	}
	return list
}
