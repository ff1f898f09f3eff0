package policy

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// Direction is a direction of traffic, as seen by the pod that a policy selects.
type Direction string

// The directions.
const (
	Ingress Direction = "ingress"
	Egress  Direction = "egress"
)

// Section is what one policy says about one direction. A network policy that does not
// isolate in a direction has no section for it; one that isolates and allows nothing
// has a section without rules.
type Section struct {
	Tier      topology.PolicyTier // empty: a network policy
	Namespace string              // of a network policy
	Name      string
	Direction Direction
	Pods      []*topology.Pod // of the node, that the section selects
	Rules     []*Rule
	Origin    plan.Origin
}

// Title names a section for people: policy db/allow-web, cluster policy limits.
func (s *Section) Title() string {
	if s.Tier != "" {
		return "cluster policy " + s.Name
	}
	return "policy " + s.Namespace + "/" + s.Name
}

// Key identifies a section: by tier, namespace, name and direction.
func (s *Section) Key() []string {
	return []string{string(s.Tier), s.Namespace, s.Name, string(s.Direction)}
}

// Rule matches connections whose other end is among its Peers and whose port is among
// its ports: either of Ranges or of what Named returns, or any port at all.
type Rule struct {
	Index  int // in the section, from 0
	Action topology.PolicyAction
	// AnyPort stands for every port of every protocol, also of those without ports.
	AnyPort bool
	// Ranges are ports by number, without overlap: by protocol, then by port.
	Ranges []PortRange
	// Written are the peers as the policy has them, for styles with rules for each. None: the rule
	// matches any peer.
	Written []topology.PolicyPeer
	Origin  plan.Origin

	peers  [2]Peers
	names  []portName
	target [2][]Member // of egress: the named ports of peers
}

// Peers are the other ends of a rule in one IP family.
type Peers struct {
	// Any stands for every address; then the others are empty.
	Any bool
	// Pods are the addresses of pods, sorted.
	Pods []netip.Addr
	// Blocks are blocks of addresses without overlap, sorted; exceptions are already
	// removed. None has length 0.
	Blocks []netip.Prefix
}

// None reports whether there is no other end.
func (p *Peers) None() bool { return !p.Any && len(p.Pods) == 0 && len(p.Blocks) == 0 }

// Prefixes are the pods and the blocks, without pods that a block contains: in a set they
// would be duplicates, or overlap.
func (p *Peers) Prefixes() []netip.Prefix {
	outside := slices.DeleteFunc(slices.Clone(p.Pods), func(a netip.Addr) bool {
		return slices.ContainsFunc(p.Blocks, func(b netip.Prefix) bool { return b.Contains(a) })
	})
	return append(Singles(outside), p.Blocks...)
}

// Singles are addresses as prefixes.
func Singles(addrs []netip.Addr) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(addrs))
	for _, a := range addrs {
		out = append(out, topology.Single(a))
	}
	return out
}

// Member is a port of a pod.
type Member struct {
	Addr     netip.Addr
	Protocol topology.Protocol
	Port     uint16
}

// portName is a port that the destination pod has to resolve.
type portName struct {
	name     string
	protocol topology.Protocol
}

func family(ipv6 bool) int {
	if ipv6 {
		return 1
	}
	return 0
}

// Peers are the other ends of the rule in one IP family.
func (r *Rule) Peers(ipv6 bool) *Peers { return &r.peers[family(ipv6)] }

// HasNames reports whether the rule has ports by name.
func (r *Rule) HasNames() bool { return len(r.names) > 0 }

// Named returns the ports that the rule's names stand for, sorted: at ingress those
// of the node's pods that the section selects, to which the rule's peers may
// connect; at egress those of the peers, and no other end has any.
func (s *Section) Named(r *Rule, ipv6 bool) []Member {
	if s.Direction == Egress {
		return r.target[family(ipv6)]
	}
	return members(s.Pods, r.names, ipv6)
}

// members resolves names on pods: both name and protocol have to be declared.
func members(pods []*topology.Pod, names []portName, ipv6 bool) []Member {
	var out []Member
	for _, p := range pods {
		for _, port := range p.Ports {
			if port.Name == "" || !slices.Contains(names, portName{port.Name, port.Protocol}) {
				continue
			}
			if a := topology.OfFamily(p.Addrs, ipv6); a.IsValid() {
				out = append(out, Member{a, port.Protocol, port.Number})
			}
		}
	}
	slices.SortFunc(out, Member.compare)
	return slices.Compact(out)
}

// sections resolves all policies of a lab, in the order of evaluation.
func sections(lab *topology.Lab) []*Section {
	r := resolver{lab: lab}
	var admin, network, baseline []*Section
	for _, p := range lab.ClusterPolicies {
		list := &admin
		if p.Tier == topology.BaselineTier {
			list = &baseline
		}
		o := origin("cluster policy "+p.Name, p.Origin)
		for _, d := range []Direction{Ingress, Egress} {
			if rules := p.Rules(d == Egress); len(rules) > 0 {
				*list = append(*list, r.section(Section{Tier: p.Tier, Name: p.Name, Direction: d, Pods: p.Pods, Origin: o}, rules))
			}
		}
	}
	for _, p := range lab.Policies {
		o := origin("policy "+p.Namespace+"/"+p.Name, p.Origin)
		for _, d := range []Direction{Ingress, Egress} {
			if says := p.Direction(d == Egress); says.Isolates {
				network = append(network, r.section(Section{Namespace: p.Namespace, Name: p.Name, Direction: d, Pods: p.Pods, Origin: o}, says.Rules))
			}
		}
	}
	return slices.Concat(admin, network, baseline)
}

// PodOrigin is the origin of what serves a pod.
func PodOrigin(p *topology.Pod) plan.Origin { return origin("pod "+p.AgentName(), p.Origin) }

func origin(object string, o topology.Origin) plan.Origin {
	return plan.Origin{Object: object, File: o.File, Line: o.Line}
}

// resolver resolves rules.
type resolver struct{ lab *topology.Lab }

func (r *resolver) section(s Section, rules []topology.PolicyRule) *Section {
	for i := range rules {
		s.Rules = append(s.Rules, r.rule(&s, i, &rules[i]))
	}
	return &s
}

func (r *resolver) rule(s *Section, index int, from *topology.PolicyRule) *Rule {
	out := &Rule{Index: index, Action: from.Action, AnyPort: len(from.Ports) == 0, Written: from.Peers}
	if out.Action == "" || out.Action == topology.PolicyPass && s.Tier == topology.BaselineTier {
		out.Action = topology.PolicyAccept // no tier comes after Baseline
	}
	title := from.Name
	if title == "" {
		title = strconv.Itoa(index + 1)
	}
	o := from.Origin
	if o == (topology.Origin{}) {
		o = topology.Origin{File: s.Origin.File, Line: s.Origin.Line}
	}
	out.Origin = origin(s.Title()+" "+string(s.Direction)+" rule "+title, o)
	for _, p := range from.Ports {
		if p.Name != "" {
			out.names = append(out.names, portName{p.Name, p.Protocol})
			continue
		}
		out.Ranges = append(out.Ranges, PortRange{p.Protocol, p.First, p.Last})
	}
	out.Ranges = mergePorts(out.Ranges)
	for _, ipv6 := range []bool{false, true} {
		out.peers[family(ipv6)] = peers(from.Peers, ipv6)
		if s.Direction == Egress && len(out.names) > 0 {
			out.target[family(ipv6)] = members(r.destinations(from.Peers), out.names, ipv6)
		}
	}
	return out
}

// destinations are the pods on which names of an egress rule are resolved.
func (r *resolver) destinations(peers []topology.PolicyPeer) []*topology.Pod {
	var out []*topology.Pod
	if len(peers) == 0 {
		for _, p := range r.lab.Pods {
			if !p.HostNetwork {
				out = append(out, p)
			}
		}
	}
	for i := range peers {
		out = append(out, peers[i].Pods...)
	}
	return out
}

// peers resolves the other ends of a rule in one IP family.
func peers(from []topology.PolicyPeer, ipv6 bool) Peers {
	if len(from) == 0 {
		return Peers{Any: true}
	}
	var out Peers
	for i := range from {
		p := &from[i]
		for _, pod := range p.Pods {
			if a := topology.OfFamily(pod.Addrs, ipv6); a.IsValid() {
				out.Pods = append(out.Pods, a)
			}
		}
		if p.Block.IsValid() && p.Block.Addr().Is6() == ipv6 {
			out.Blocks = append(out.Blocks, subtract(p.Block, p.Except)...)
		}
	}
	out.Blocks = mergeBlocks(out.Blocks)
	if len(out.Blocks) == 1 && out.Blocks[0].Bits() == 0 {
		return Peers{Any: true}
	}
	slices.SortFunc(out.Pods, netip.Addr.Compare)
	out.Pods = slices.Compact(out.Pods)
	return out
}
