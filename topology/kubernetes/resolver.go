package kubernetes

import (
	"cmp"
	"net/netip"

	"github.com/netlab/netlab/topology"
)

// resolver is what a pod says about name servers. In a lab it takes a dns block, which is added
// for the first pod that needs it, unless the manifests bring name servers of their own.
func (c *converter) resolver(p podSpec) (policy str, config topology.DNSConfigSpec) {
	if p.DNSPolicy.Value != string(topology.ClusterFirst) { // the default
		policy = p.DNSPolicy
	}
	if p.DNSConfig != nil {
		config = c.resolverConfig(p.DNSConfig)
	}
	at := cmp.Or(policy.Origin, config.Origin)
	if at == (topology.Origin{}) {
		return policy, config
	}
	if own := c.ownNameServers(); own != nil {
		c.lose("", at, "dnsPolicy and dnsConfig: the manifests have name servers of their own (service %s %s), which are agents in a lab. Leave them out, and those of the lab take their place",
			topology.DNSService, own.at().SeenFrom(at))
		return str{}, topology.DNSConfigSpec{}
	}
	if !c.named && !c.DNS.Written {
		c.DNS = topology.DNSSpec{Written: true, Origin: at}
	}
	return policy, config
}

// ownNameServers is the service of the name servers that the manifests have.
func (c *converter) ownNameServers() *serviceObject {
	for _, s := range c.svc {
		if s.namespace() == topology.SystemNamespace && s.Meta.Name.Value == topology.DNSService {
			return s
		}
	}
	return nil
}

func (c *converter) resolverConfig(d *dnsConfig) topology.DNSConfigSpec {
	out := topology.DNSConfigSpec{Origin: d.Origin}
	for _, s := range d.Nameservers {
		a, err := netip.ParseAddr(s.Value)
		if err != nil || a.Zone() != "" {
			c.errorf(cmp.Or(s.Origin, d.Origin), "Invalid address", "%q is not the address of a name server. Write one such as 10.96.0.10.", shorten(s.Value))
			continue
		}
		add(&out.Nameservers, a, s.Origin)
	}
	for _, s := range d.Searches {
		add(&out.Searches, s.Value, s.Origin)
	}
	for _, o := range d.Options {
		text := o.Name.Value
		if o.Value.Set {
			text += ":" + o.Value.Value
		}
		add(&out.Options, text, cmp.Or(o.Name.Origin, o.Origin))
	}
	return out
}

// add adds a value to a list that stands where its first value does.
func add[T any](list *topology.Opt[[]T], value T, at topology.Origin) {
	if !list.Set {
		list.Set, list.Origin = true, at
	}
	list.Value = append(list.Value, value)
}
