package calico

import (
	"strings"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/felix"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// endpointChain is the chain of a pod in one direction, by the name of its link.
func endpointChain(root string, p *topology.Pod) string {
	if root == from {
		return "cali-fw-" + p.HostLink
	}
	return "cali-tw-" + p.HostLink
}

// endpoint adds the two chains of a pod.
func (c *compiler) endpoint(p *policy.Pod) {
	if _, ok := c.Address(p.Pod); !ok {
		return
	}
	c.oneWay(endpointChain(from, p.Pod), p, &p.Egress, policy.Egress)
	c.oneWay(endpointChain(to, p.Pod), p, &p.Ingress, policy.Ingress)
}

// oneWay adds the chain of one direction.
func (c *compiler) oneWay(chain string, p *policy.Pod, s *policy.Side, d policy.Direction) {
	o := policy.PodOrigin(p.Pod)
	c.Add(chain, o, iptables.Accept{}, policy.Established())
	if c.IPv6 {
		for _, t := range policy.NeighbourDiscovery() {
			c.Add(chain, o, iptables.Return{}, iptables.Proto{Name: "ipv6-icmp"}, t)
		}
	}
	c.Add(chain, o, iptables.Drop{}, policy.Invalid())
	c.Add(chain, o, clear(accept))
	if d == policy.Egress {
		c.noTunnels(chain, o)
	}
	if len(s.Admin) > 0 {
		c.tier(chain, o, "admin", s.Admin)
	}
	if s.Isolated() {
		c.tier(chain, o, "policies", s.Network)
		c.Deny(chain, o, iptables.Comment{Text: "Drop if no policies passed packet"}, lacks(pass))
		return
	}
	if len(s.Baseline) > 0 {
		c.tier(chain, o, "baseline", s.Baseline)
	}
	profile := c.profile(p.Namespace, d)
	c.Add(chain, o, iptables.Jump{Chain: profile})
	c.Add(chain, o, iptables.Return{}, iptables.Comment{Text: "Return if profile accepted"}, has(accept))
	c.Deny(chain, o, iptables.Comment{Text: "Drop if no profiles matched"})
}

// tier jumps to the policies of one tier.
func (c *compiler) tier(chain string, o plan.Origin, name string, sections []*policy.Section) {
	c.Add(chain, o, clear(pass), iptables.Comment{Text: "Start of " + name})
	for _, s := range sections {
		c.Add(chain, s.Origin, iptables.Jump{Chain: sectionChain(s)}, lacks(pass))
		c.Add(chain, s.Origin, iptables.Return{}, iptables.Comment{Text: "Return if policy accepted"}, has(accept))
		if s.Tier != "" {
			c.Deny(chain, s.Origin, iptables.Comment{Text: "Drop if policy denied"}, has(deny))
		}
	}
}

// noTunnels keeps a pod from sending spoofed packets to the nodes' tunnels.
func (c *compiler) noTunnels(chain string, o plan.Origin) {
	for _, s := range c.View.Lab.Subnets {
		cidr := topology.PrefixOfFamily(s.CIDRs, c.IPv6)
		if !cidr.IsValid() || c.View.Lab.Network.VXLAN.Port == 0 {
			continue
		}
		nodes := iptables.Dst{Prefix: cidr}
		c.Add(chain, o, iptables.Drop{}, nodes, iptables.Proto{Name: "udp"}, iptables.DPort{Port: uint16(c.View.Lab.Network.VXLAN.Port)},
			iptables.Comment{Text: "Drop VXLAN encapped packets originating in workloads"})
	}
}

// profile ensures the profile chain of a namespace, which accepts.
func (c *compiler) profile(namespace string, d policy.Direction) string {
	prefix := "cali-pri-"
	if d == policy.Egress {
		prefix = "cali-pro-"
	}
	name := felix.ChainName(prefix, "kns."+namespace)
	if !c.Has(name) {
		o := c.View.Origin()
		c.Add(name, o, set(accept), iptables.Comment{Text: "Profile kns." + namespace + " " + string(d)})
		c.Add(name, o, iptables.Return{}, has(accept))
	}
	return name
}

// sectionChain is the chain of a policy in one direction, by Calico's name of the policy:
// namespace/knp.default.name, where the second word is the tier.
func sectionChain(s *policy.Section) string {
	prefix := "cali-pi-"
	if s.Direction == policy.Egress {
		prefix = "cali-po-"
	}
	if s.Tier != "" {
		return felix.ChainName(prefix, "kcnp."+strings.ToLower(string(s.Tier))+"."+s.Name)
	}
	return felix.ChainName(prefix, s.Namespace+"/knp.default."+s.Name)
}
