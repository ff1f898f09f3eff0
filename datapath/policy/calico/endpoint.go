package calico

import (
	"github.com/netlab/netlab/datapath/plan"
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

func podOrigin(p *topology.Pod) plan.Origin {
	return plan.Origin{Object: "pod " + p.AgentName(), File: p.Origin.File, Line: p.Origin.Line}
}

// endpoint adds the two chains of a pod.
func (c *compiler) endpoint(p *policy.Pod) {
	own, ok := c.Address(p.Pod)
	if !ok {
		return
	}
	c.ways(endpointChain(from, p.Pod), p, &p.Egress, plan.Dst{Prefix: own}, policy.Egress)
	c.ways(endpointChain(to, p.Pod), p, &p.Ingress, plan.Src{Prefix: own}, policy.Ingress)
}

// ways adds the chain of one direction; itself matches packets of it whose other end is
// the pod, too.
func (c *compiler) ways(chain string, p *policy.Pod, s *policy.Side, itself plan.Match, d policy.Direction) {
	o := podOrigin(p.Pod)
	c.Add(chain, o, plan.Accept{}, policy.Established())
	if c.IPv6 {
		for _, t := range policy.NeighbourDiscovery() {
			c.Add(chain, o, plan.Return{}, plan.Proto{Name: "ipv6-icmp"}, t)
		}
	}
	c.Add(chain, o, plan.Drop{}, policy.Invalid())
	c.Add(chain, o, clear(accept|pass|deny))
	c.Add(chain, o, plan.Return{}, itself, plan.Comment{Text: "A pod reaches itself"})
	if d == policy.Egress {
		c.noTunnels(chain, o)
	}
	if len(s.Admin) > 0 {
		c.tier(chain, o, "admin", s.Admin)
	}
	if s.Isolated() {
		c.tier(chain, o, "policies", s.Network)
		c.denied(chain, o, plan.Comment{Text: "Drop if no policies passed packet"}, lacks(pass))
		return
	}
	if len(s.Baseline) > 0 {
		c.tier(chain, o, "baseline", s.Baseline)
	}
	profile := c.profile(p.Namespace, d)
	c.Add(chain, o, plan.Jump{Chain: profile})
	c.Add(chain, o, plan.Return{}, plan.Comment{Text: "Return if profile accepted"}, has(accept))
	c.denied(chain, o, plan.Comment{Text: "Drop if no profiles matched"})
}

// tier asks the policies of one tier.
func (c *compiler) tier(chain string, o plan.Origin, name string, sections []*policy.Section) {
	c.Add(chain, o, clear(pass), plan.Comment{Text: "Start of " + name})
	for _, s := range sections {
		c.Add(chain, s.Origin, plan.Jump{Chain: sectionChain(s)}, lacks(pass), policy.Comment(s.Title()))
		c.Add(chain, s.Origin, plan.Return{}, plan.Comment{Text: "Return if policy accepted"}, has(accept))
		if s.Tier != "" {
			c.denied(chain, s.Origin, plan.Comment{Text: "Drop if policy denied"}, has(deny))
		}
	}
}

// denied ends packets as the lab says.
func (c *compiler) denied(chain string, o plan.Origin, matches ...plan.Match) {
	for _, r := range c.View.Deny(c.IPv6) {
		all := append([]plan.Match{}, r.Matches...)
		c.Add(chain, o, r.Target, append(all, matches...)...)
	}
}

// noTunnels keeps a pod from speaking to the nodes' tunnels in the name of other pods.
func (c *compiler) noTunnels(chain string, o plan.Origin) {
	for _, cidr := range c.View.Lab.Network.NodeCIDRs {
		if cidr.Addr().Is6() != c.IPv6 || c.View.Lab.Network.VXLAN.Port == 0 {
			continue
		}
		nodes := plan.Dst{Prefix: cidr}
		c.Add(chain, o, plan.Drop{}, nodes, plan.Proto{Name: "udp"}, plan.DPort{Port: uint16(c.View.Lab.Network.VXLAN.Port)},
			plan.Comment{Text: "Drop VXLAN encapped packets originating in workloads"})
	}
}

// profile makes sure that the profile of a namespace is there, which accepts.
func (c *compiler) profile(namespace string, d policy.Direction) string {
	prefix := "cali-pri-"
	if d == policy.Egress {
		prefix = "cali-pro-"
	}
	name := prefix + "kns." + namespace
	if len(name) > maxChain {
		name = prefix + "_" + policy.Hash(maxChain-len(prefix)-1, namespace)
	}
	if !c.Has(name) {
		o := c.View.Origin()
		c.Add(name, o, set(accept), plan.Comment{Text: "Profile kns." + namespace + " " + string(d)})
		c.Add(name, o, plan.Return{}, has(accept))
	}
	return name
}

// maxChain is the longest name of a chain, in bytes (XT_EXTENSION_MAXNAMELEN, with a
// zero byte).
const maxChain = 28

// sectionChain is the chain of a policy in one direction: inbound or outbound.
func sectionChain(s *policy.Section) string {
	prefix := "cali-pi-_"
	if s.Direction == policy.Egress {
		prefix = "cali-po-_"
	}
	return prefix + policy.Hash(maxChain-len(prefix), s.Key()...)
}
