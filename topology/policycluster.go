package topology

import (
	"fmt"
	"slices"
	"strings"
)

// The limits of policy.networking.k8s.io/v1alpha2 (clusternetworkpolicy_types.go).
const (
	maxPolicyPriority = 1000
	maxPolicyItems    = 25
	maxPolicyRuleName = 100
)

func (r *resolver) clusterPolicy(s ClusterPolicySpec, seen map[string]Origin) {
	r.policyName("cluster policy", s.Name, s.Origin)
	if !r.unique(seen, "cluster policy", s.Name, s.Origin) {
		return
	}
	tiers := []string{string(AdminTier), string(BaselineTier)}
	p := &ClusterPolicy{Name: s.Name, Origin: s.Origin}
	p.Tier = PolicyTier(r.enum(s.Tier, "tier", string(AdminTier), tiers, nil))
	if s.Tier == (Opt[string]{}) {
		r.errorf(at(s.Origin), "Policy without tier", "Cluster policy %q has no tier. Add tier = \"Admin\" or \"Baseline\".", s.Name)
	}
	switch o := s.Priority; {
	case o == (Opt[int]{}):
		r.errorf(at(s.Origin), "Policy without priority", "Cluster policy %q has no priority. Add priority = 100; lower numbers come first.", s.Name)
	case o.Set && (o.Value < 0 || o.Value > maxPolicyPriority):
		r.errorf(at(o.Origin, s.Origin), "Priority out of range", "The priority %d is out of range. Use a number from 0 to %d.", o.Value, maxPolicyPriority)
	default:
		p.Priority = o.Value
	}
	r.subject(p, s)
	p.Ingress = r.clusterRules(p, s.Ingress, true)
	p.Egress = r.clusterRules(p, s.Egress, false)
	r.lab.ClusterPolicies = append(r.lab.ClusterPolicies, p)
}

// subject resolves whom a cluster policy is about.
func (r *resolver) subject(p *ClusterPolicy, s ClusterPolicySpec) {
	where := at(s.Subject.Origin, s.Origin)
	if !s.Subject.PodSelector.Set && !s.Subject.NamespaceSelector.Set {
		r.errorf(where, "Policy without subject",
			"Cluster policy %q does not say which pods it is about. Add subject { namespace_selector = {} } for all pods.", s.Name)
		return
	}
	pods, ok := r.clusterPods(s.Subject)
	if p.Pods = pods; ok {
		r.warnUnselected(fmt.Sprintf("cluster policy %q", p.Name), "pod", pods, where)
	}
}

// clusterPods are the pods that selectors choose in all namespaces.
func (r *resolver) clusterPods(s PeerSpec) ([]*Pod, bool) {
	pods, ok := r.selector(s.PodSelector)
	namespaces, also := r.selector(s.NamespaceSelector)
	if !ok || !also {
		return nil, false
	}
	return r.podsWhere(func(p *Pod) bool { return r.namespaceMatches(namespaces, p.Namespace) && pods.matches(p.Labels) }), true
}

// clusterRules resolves the rules of one direction.
func (r *resolver) clusterRules(p *ClusterPolicy, specs []PolicyRuleSpec, ingress bool) []PolicyRule {
	direction, peers := "egress", "to"
	if ingress {
		direction, peers = "ingress", "from"
	}
	if len(specs) > maxPolicyItems {
		r.errorf(at(specs[maxPolicyItems].Origin, p.Origin), "Too many rules",
			"Cluster policy %q has %d %s rules, and at most %d are allowed. Use another policy for the rest.", p.Name, len(specs), direction, maxPolicyItems)
	}
	actions := []string{string(PolicyAccept), string(PolicyDeny), string(PolicyPass)}
	var out []PolicyRule
	for _, s := range specs {
		where := at(s.Origin, p.Origin)
		rule := PolicyRule{Name: s.Name, Origin: s.Origin, Action: PolicyAction(r.enum(s.Action, "action", string(PolicyDeny), actions, nil))}
		if s.Action == (Opt[string]{}) {
			r.errorf(where, "Rule without action", "A rule of a cluster policy has an action. Add action = \"Accept\", \"Deny\" or \"Pass\".")
		}
		if len(s.Name) > maxPolicyRuleName {
			r.errorf(where, "Rule name too long", "The name of a rule may have %d characters, and %q has %d. Shorten it.", maxPolicyRuleName, shorten(s.Name), len(s.Name))
		}
		switch {
		case len(s.Peers) == 0:
			r.errorf(where, "Rule without peers",
				"A rule of a cluster policy must have at least one peer. Add %s { namespace_selector = {} } for all pods.", peers)
		case len(s.Peers) > maxPolicyItems || len(s.Ports) > maxPolicyItems:
			r.errorf(where, "Too many peers or ports", "A rule may have %d peers and %d ports. Use another rule for the rest.", maxPolicyItems, maxPolicyItems)
		}
		for _, peer := range s.Peers {
			rule.Peers = append(rule.Peers, r.clusterPeer(peer, s, ingress)...)
		}
		for _, port := range s.Ports {
			if resolved, ok := r.policyPort(port, s.Origin); ok {
				rule.Ports = append(rule.Ports, resolved)
			}
		}
		r.clusterPorts(s, rule, ingress)
		out = append(out, rule)
	}
	return out
}

// clusterPeer resolves a peer, which may stand for several blocks of addresses.
func (r *resolver) clusterPeer(s PeerSpec, rule PolicyRuleSpec, ingress bool) []PolicyPeer {
	networks, selectors := s.Networks.Set || s.Networks.Origin != (Origin{}), s.PodSelector.Set || s.NamespaceSelector.Set
	where := at(s.Networks.Origin, s.Origin, rule.Origin)
	switch {
	case s.Block.Set || s.Block.Origin != (Origin{}):
		r.errorf(at(s.Block.Origin, s.Origin), "Block in a cluster policy", "Rules of cluster policies have no ip_block. Write networks = [\"…\"] in a to block.")
		return nil
	case networks && selectors:
		r.errorf(where, "Networks mixed with selectors", "A peer may not specify both networks and selectors. Write two peers, which stand for either.")
		return nil
	case networks && ingress:
		r.errorf(where, "Networks in ingress", "Ingress rules of cluster policies have no networks: the API has them for egress only. Use a policy block with ip_block.")
		return nil
	case !networks && !selectors:
		r.errorf(at(s.Origin, rule.Origin), "Empty peer",
			"A peer must specify exactly one of selectors and networks. Write namespace_selector = {} for all pods.")
		return nil
	case !networks:
		pods, _ := r.clusterPods(s)
		return []PolicyPeer{{Pods: pods, Origin: s.Origin}}
	}
	switch n := len(s.Networks.Value); {
	case s.Networks.Set && n == 0:
		r.errorf(where, "Empty networks", "A peer has 1 to %d networks, and this one has none. Add one, or remove the peer.", maxPolicyItems)
	case n > maxPolicyItems:
		r.errorf(where, "Too many networks", "A peer has 1 to %d networks, and this one has %d. Use another peer for the rest.", maxPolicyItems, n)
	}
	var out []PolicyPeer
	for i, p := range s.Networks.Value {
		if slices.Contains(s.Networks.Value[:i], p) {
			r.errorf(where, "Network listed twice", "networks has %s twice. Remove one of them.", p)
			continue
		}
		r.hostBits(p, s.Networks.Origin)
		out = append(out, PolicyPeer{Block: p.Masked(), Origin: s.Origin})
	}
	return out
}

// clusterPorts reports ports that only network policies can have.
func (r *resolver) clusterPorts(s PolicyRuleSpec, rule PolicyRule, ingress bool) {
	networks := slices.ContainsFunc(rule.Peers, func(p PolicyPeer) bool { return p.Block.IsValid() })
	for _, p := range rule.Ports {
		if p.Name != "" && networks && !ingress {
			r.errorf(at(p.Origin, s.Origin), "Port name of a network",
				"networks cannot be set with a named port, since networks have no named ports. Use a number.")
		}
	}
	for _, p := range s.Ports {
		if p.EndPort.Set && p.Port.Value == fmt.Sprint(p.EndPort.Value) {
			r.errorf(at(p.EndPort.Origin, p.Origin), "Range of one port", "In a cluster policy the start port must be less than the end port. Remove end_port.")
		}
	}
}

// ambiguous warns of policies of one tier and priority that could decide about the same
// connection differently: which of them does is undefined.
func (r *resolver) ambiguous() {
	list := r.lab.ClusterPolicies
	for i, a := range list {
		for _, b := range list[i+1:] {
			if a.Tier != b.Tier || a.Priority != b.Priority {
				break
			}
			if !slices.ContainsFunc(a.Pods, func(p *Pod) bool { return isPolicyPod(b.Pods, p) }) {
				continue
			}
			for _, d := range []struct {
				name string
				a, b []PolicyRule
			}{{typeIngress, a.Ingress, b.Ingress}, {typeEgress, a.Egress, b.Egress}} {
				if !conflict(d.a, d.b) {
					continue
				}
				here, other := a, b
				if a.Origin.File == b.Origin.File && a.Origin.Line < b.Origin.Line {
					here, other = b, a
				}
				r.warnf(at(here.Origin), "Undefined order of policies",
					"Cluster policies %q and %q, %s, have tier %s and priority %d and different actions for the same %s connections: which counts is undefined. Give them different priorities.",
					here.Name, other.Name, other.Origin.seenFrom(here.Origin), a.Tier, a.Priority, strings.ToLower(d.name))
				break
			}
		}
	}
}

// conflict reports whether two lists of rules have rules that match a connection and
// do different things.
func conflict(a, b []PolicyRule) bool {
	return slices.ContainsFunc(a, func(x PolicyRule) bool {
		return slices.ContainsFunc(b, func(y PolicyRule) bool {
			return x.Action != y.Action && overlap(x.Ports, y.Ports) && slices.ContainsFunc(x.Peers, func(p PolicyPeer) bool {
				return slices.ContainsFunc(y.Peers, p.overlaps)
			})
		})
	})
}

// overlaps reports whether some address is of both peers.
func (p PolicyPeer) overlaps(q PolicyPeer) bool {
	switch {
	case p.Block.IsValid() && q.Block.IsValid():
		return p.Block.Overlaps(q.Block)
	case q.Block.IsValid():
		return q.overlaps(p)
	}
	return slices.ContainsFunc(q.Pods, func(pod *Pod) bool {
		if p.Block.IsValid() {
			return slices.ContainsFunc(pod.Addrs, p.Block.Contains)
		}
		return isPolicyPod(p.Pods, pod)
	})
}
