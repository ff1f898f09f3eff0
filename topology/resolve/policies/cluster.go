package policies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// The limits of policy.networking.k8s.io/v1alpha2 (clusternetworkpolicy_types.go).
const (
	maxPolicyPriority = 1000
	maxPolicyItems    = 25
	maxPolicyRuleName = 100
)

func (r *resolver) clusterPolicy(s topology.ClusterPolicySpec, seen map[string]topology.Origin) {
	r.Of("cluster_policy", s.Written.Block, s.Written.Key)
	named := cmp.Or(s.Written.Named, s.Origin)
	r.policyName("cluster policy", s.Name, named)
	if !r.Unique(seen, "cluster policy", s.Name, named) {
		return
	}
	tiers := []string{string(topology.AdminTier), string(topology.BaselineTier)}
	p := &topology.ClusterPolicy{Name: s.Name, Origin: s.Origin}
	p.Tier = topology.PolicyTier(r.Enum(s.Tier, "tier", string(topology.AdminTier), tiers, nil))
	if s.Tier == (topology.Opt[string]{}) {
		r.Errorf(draft.At(s.Origin), "Policy without tier", "Cluster policy %q has no tier. Add tier = \"Admin\" or \"Baseline\".", s.Name)
	}
	switch o := s.Priority; {
	case o == (topology.Opt[int]{}):
		r.Errorf(draft.At(s.Origin), "Policy without priority", "Cluster policy %q has no priority. Add priority = 100; lower numbers come first.", s.Name)
	case o.Set && (o.Value < 0 || o.Value > maxPolicyPriority):
		r.Errorf(draft.At(o.Origin, s.Origin), "Priority out of range", "The priority %d is out of range. Use a number from 0 to %d.", o.Value, maxPolicyPriority)
	default:
		p.Priority = o.Value
	}
	r.subject(p, s)
	p.Ingress = r.clusterRules(p, s.Ingress, true)
	p.Egress = r.clusterRules(p, s.Egress, false)
	r.Lab.ClusterPolicies = append(r.Lab.ClusterPolicies, p)
}

// subject resolves the pods that a cluster policy selects.
func (r *resolver) subject(p *topology.ClusterPolicy, s topology.ClusterPolicySpec) {
	where := draft.At(s.Subject.Origin, s.Origin)
	if !s.Subject.PodSelector.Set && !s.Subject.NamespaceSelector.Set {
		r.Errorf(where, "Policy without subject",
			"Cluster policy %q does not say which pods it selects. Add subject { namespace_selector = {} } for all pods.", s.Name)
		return
	}
	pods, ok := r.clusterPods(s.Subject)
	if p.Pods = pods; ok {
		r.warnUnselected(fmt.Sprintf("cluster policy %q", p.Name), "pod", pods, where)
	}
}

// clusterPods are the pods that selectors choose in all namespaces.
func (r *resolver) clusterPods(s topology.PeerSpec) ([]*topology.Pod, bool) {
	pods, ok := r.selector(s.PodSelector)
	namespaces, also := r.selector(s.NamespaceSelector)
	if !ok || !also {
		return nil, false
	}
	return r.podsWhere(func(p *topology.Pod) bool {
		return r.namespaceMatches(namespaces, p.Namespace) && pods.matches(p.Labels)
	}), true
}

// clusterRules resolves the rules of one direction.
func (r *resolver) clusterRules(p *topology.ClusterPolicy, specs []topology.PolicyRuleSpec, ingress bool) []topology.PolicyRule {
	direction, peers := "egress", "to"
	if ingress {
		direction, peers = "ingress", "from"
	}
	if len(specs) > maxPolicyItems {
		r.Errorf(draft.At(specs[maxPolicyItems].Origin, p.Origin), "Too many rules",
			"Cluster policy %q has %d %s rules, and at most %d are allowed. Use another policy for the rest.", p.Name, len(specs), direction, maxPolicyItems)
	}
	actions := []string{string(topology.PolicyAccept), string(topology.PolicyDeny), string(topology.PolicyPass)}
	var out []topology.PolicyRule
	for _, s := range specs {
		where := draft.At(s.Origin, p.Origin)
		rule := topology.PolicyRule{Name: s.Name, Origin: s.Origin, Action: topology.PolicyAction(r.Enum(s.Action, "action", string(topology.PolicyDeny), actions, nil))}
		if s.Action == (topology.Opt[string]{}) {
			r.Errorf(where, "Rule without action", "A rule of a cluster policy needs an action. Add action = \"Accept\", \"Deny\" or \"Pass\".")
		}
		if len(s.Name) > maxPolicyRuleName {
			r.Errorf(where, "Rule name too long", "The name of a rule may have at most %d characters, but %q has %d. Shorten it.", maxPolicyRuleName, draft.Shorten(s.Name), len(s.Name))
		}
		switch {
		case len(s.Peers) == 0:
			r.Errorf(where, "Rule without peers",
				"A rule of a cluster policy must have at least one peer. Add %s { namespace_selector = {} } for all pods.", peers)
		case len(s.Peers) > maxPolicyItems || len(s.Ports) > maxPolicyItems:
			r.Errorf(where, "Too many peers or ports", "A rule may have at most %d peers and %d ports. Use another rule for the rest.", maxPolicyItems, maxPolicyItems)
		}
		for _, peer := range s.Peers {
			rule.Peers = append(rule.Peers, r.clusterPeer(peer, s, ingress)...)
		}
		rule.Ports = r.policyPorts(s)
		r.clusterPorts(s, rule, ingress)
		out = append(out, rule)
	}
	return out
}

// clusterPeer resolves a peer, which may stand for several blocks of addresses.
func (r *resolver) clusterPeer(s topology.PeerSpec, rule topology.PolicyRuleSpec, ingress bool) []topology.PolicyPeer {
	networks, selectors := s.Networks.Set || s.Networks.Origin != (topology.Origin{}), s.PodSelector.Set || s.NamespaceSelector.Set
	where := draft.At(s.Networks.Origin, s.Origin, rule.Origin)
	switch {
	case s.Block.Set || s.Block.Origin != (topology.Origin{}):
		r.Errorf(draft.At(s.Block.Origin, s.Origin), "Block in a cluster policy", "Rules of cluster policies have no ip_block. Write networks = [\"…\"] in a to block.")
		return nil
	case networks && selectors:
		r.Errorf(where, "Networks mixed with selectors", "A peer may not specify both networks and selectors. Write two peers instead.")
		return nil
	case networks && ingress:
		r.Errorf(where, "Networks in ingress", "Ingress rules of cluster policies have no networks: the API has them for egress only. Use a policy block with ip_block.")
		return nil
	case !networks && !selectors:
		r.Errorf(draft.At(s.Origin, rule.Origin), "Empty peer",
			"A peer must specify exactly one of selectors and networks. Write namespace_selector = {} for all pods.")
		return nil
	case !networks:
		pods, _ := r.clusterPods(s)
		return []topology.PolicyPeer{{Pods: pods, Origin: s.Origin}}
	}
	switch n := len(s.Networks.Value); {
	case s.Networks.Set && n == 0:
		r.Errorf(where, "Empty networks", "A peer has 1 to %d networks, but this one has none. Add one, or remove the peer.", maxPolicyItems)
	case n > maxPolicyItems:
		r.Errorf(where, "Too many networks", "A peer has 1 to %d networks, but this one has %d. Use another peer for the rest.", maxPolicyItems, n)
	}
	var out []topology.PolicyPeer
	for i, p := range s.Networks.Value {
		if slices.Contains(s.Networks.Value[:i], p) {
			r.Errorf(where, "Network listed twice", "networks has %s twice. Remove one of them.", p)
			continue
		}
		r.hostBits(p, s.Networks.Origin)
		out = append(out, topology.PolicyPeer{Block: p.Masked(), Origin: s.Origin})
	}
	return out
}

// clusterPorts reports ports that only network policies can have.
func (r *resolver) clusterPorts(s topology.PolicyRuleSpec, rule topology.PolicyRule, ingress bool) {
	networks := slices.ContainsFunc(rule.Peers, func(p topology.PolicyPeer) bool { return p.Block.IsValid() })
	for _, p := range rule.Ports {
		if p.Name != "" && networks && !ingress {
			r.Errorf(draft.At(p.Origin, s.Origin), "Port name of a network",
				"networks cannot be set with a named port, since networks have no named ports. Use a number.")
		}
	}
	for _, p := range s.Ports {
		if p.EndPort.Set && p.Port.Value == fmt.Sprint(p.EndPort.Value) {
			r.Errorf(draft.At(p.EndPort.Origin, p.Origin), "Range of one port", "In a cluster policy the start port must be less than the end port. Remove end_port.")
		}
	}
}

// ambiguous warns of policies of one tier and priority that could decide differently
// about the same connection: which of them applies is undefined.
func (r *resolver) ambiguous() {
	list := r.Lab.ClusterPolicies
	for i, a := range list {
		for _, b := range list[i+1:] {
			if a.Tier != b.Tier || a.Priority != b.Priority {
				break
			}
			if !slices.ContainsFunc(a.Pods, func(p *topology.Pod) bool { return topology.HasPod(b.Pods, p) }) {
				continue
			}
			for _, d := range []struct {
				name string
				a, b []topology.PolicyRule
			}{{typeIngress, a.Ingress, b.Ingress}, {typeEgress, a.Egress, b.Egress}} {
				if !conflict(d.a, d.b) {
					continue
				}
				here, other := a, b
				if a.Origin.File == b.Origin.File && a.Origin.Line < b.Origin.Line {
					here, other = b, a
				}
				r.Warnf(draft.At(here.Origin), "Undefined order of policies",
					"Cluster policies %q and %q, %s, have tier %s and priority %d and different actions for the same %s connections: which one applies is undefined. Give them different priorities.",
					here.Name, other.Name, other.Origin.SeenFrom(here.Origin), a.Tier, a.Priority, strings.ToLower(d.name))
				break
			}
		}
	}
}

// conflict reports whether two lists of rules have rules that match a connection and
// do different things.
func conflict(a, b []topology.PolicyRule) bool {
	return slices.ContainsFunc(a, func(x topology.PolicyRule) bool {
		return slices.ContainsFunc(b, func(y topology.PolicyRule) bool {
			return x.Action != y.Action && overlap(x.Ports, y.Ports) && slices.ContainsFunc(x.Peers, func(p topology.PolicyPeer) bool {
				return slices.ContainsFunc(y.Peers, func(q topology.PolicyPeer) bool { return peersOverlap(p, q) })
			})
		})
	})
}

// peersOverlap reports whether two peers have an address in common.
func peersOverlap(p, q topology.PolicyPeer) bool {
	switch {
	case p.Block.IsValid() && q.Block.IsValid():
		return p.Block.Overlaps(q.Block)
	case q.Block.IsValid():
		return peersOverlap(q, p)
	}
	return slices.ContainsFunc(q.Pods, func(pod *topology.Pod) bool {
		if p.Block.IsValid() {
			return slices.ContainsFunc(pod.Addrs, p.Block.Contains)
		}
		return topology.HasPod(p.Pods, pod)
	})
}
