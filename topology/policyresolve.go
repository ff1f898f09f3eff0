package topology

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// The policy types, which are directions.
const (
	typeIngress = "Ingress"
	typeEgress  = "Egress"
)

// resolvePolicies resolves everything about network policies. Pods are resolved and
// sorted by then.
func (r *resolver) resolvePolicies() {
	s, o := &r.spec.PolicyOptions, &r.lab.PolicyOptions
	styles := PolicyStyles()
	o.Style = r.enum(s.Style, "policy style", styles[0], styles, nil)
	o.Deny = r.enum(s.Deny, "way to deny", "drop", []string{"drop", denyReject}, nil)
	o.Live = r.enum(s.Live, "way with live connections", "keep", []string{"keep", "cut"}, nil)
	o.HostEgress = r.enum(s.HostEgress, "way of host egress", "allow", []string{"allow", "enforce"}, nil) == "enforce"
	o.Origin = s.Origin
	seen := map[string]Origin{}
	for _, p := range r.spec.Policies {
		r.policy(p, seen)
	}
	slices.SortFunc(r.lab.Policies, func(a, b *Policy) int { return compare(a.Namespace, b.Namespace, a.Name, b.Name) })
	seen = map[string]Origin{}
	for _, p := range r.spec.ClusterPolicies {
		r.clusterPolicy(p, seen)
	}
	slices.SortFunc(r.lab.ClusterPolicies, func(a, b *ClusterPolicy) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
	})
	r.ambiguous()
}

// policyName reports a name that is no DNS subdomain, as Kubernetes demands.
func (r *resolver) policyName(kind, name string, origin Origin) {
	if !isDNSSubdomain(name) || strings.HasSuffix(name, ".") {
		r.checkName(kind, name, origin)
	}
}

func (r *resolver) policy(s PolicySpec, seen map[string]Origin) {
	r.policyName("policy", s.Name, s.Origin)
	p := &Policy{Name: s.Name, Namespace: r.namespace(s.Namespace), Origin: s.Origin}
	if !r.unique(seen, "policy", p.Namespace+"/"+p.Name, s.Origin) {
		return
	}
	pods, usable := r.selector(s.PodSelector)
	if usable {
		p.Pods = r.podsWhere(func(pod *Pod) bool { return pod.Namespace == p.Namespace && pods.matches(pod.Labels) })
		r.warnUnselected(fmt.Sprintf("policy %q", p.Name), fmt.Sprintf("pod of namespace %q", p.Namespace), p.Pods, at(s.PodSelector.Origin, s.Origin))
	}
	ingress, egress := r.policyTypes(s)
	p.Ingress = Direction{Isolates: ingress}
	p.Egress = Direction{Isolates: egress}
	// What is inert is checked all the same, as the API server does.
	for _, d := range []struct {
		rules []PolicyRuleSpec
		name  string
		to    *Direction
	}{{s.Ingress, typeIngress, &p.Ingress}, {s.Egress, typeEgress, &p.Egress}} {
		for _, rule := range d.rules {
			if resolved := r.policyRule(rule, p.Namespace); d.to.Isolates {
				d.to.Rules = append(d.to.Rules, resolved)
			}
		}
		if len(d.rules) > 0 && !d.to.Isolates {
			r.warnf(at(d.rules[0].Origin, s.Origin), "Rules without effect",
				"policy_types does not say %q, so the %s rules of policy %q do nothing. Add it to policy_types, or remove the rules.",
				d.name, strings.ToLower(d.name), p.Name)
		}
	}
	r.lab.Policies = append(r.lab.Policies, p)
}

// policyTypes returns the directions in which a policy isolates: those that it names,
// else Ingress, and Egress where it has egress rules.
func (r *resolver) policyTypes(s PolicySpec) (ingress, egress bool) {
	o := s.PolicyTypes
	if len(o.Value) == 0 {
		return true, len(s.Egress) > 0
	}
	types := []string{typeIngress, typeEgress}
	if len(o.Value) > len(types) {
		r.errorf(at(o.Origin, s.Origin), "Too many policy types", "A policy may not specify more than two policy types. Use some of \"Ingress\" and \"Egress\".")
		return true, true
	}
	for i, t := range o.Value {
		switch {
		case !slices.Contains(types, t):
			r.errorf(at(o.Origin, s.Origin), "Unknown policy type", "%q is no policy type.%s Use \"Ingress\" or \"Egress\".", shorten(t), didYouMean(t, types))
		case slices.Contains(o.Value[:i], t):
			r.warnf(at(o.Origin, s.Origin), "Policy type twice", "policy_types says %q twice. Remove one of them, or write \"Ingress\" and \"Egress\".", t)
		}
	}
	return slices.Contains(o.Value, typeIngress), slices.Contains(o.Value, typeEgress)
}

// policyRule resolves a rule of a NetworkPolicy.
func (r *resolver) policyRule(s PolicyRuleSpec, namespace string) PolicyRule {
	out := PolicyRule{Name: s.Name, Action: PolicyAccept, Origin: s.Origin}
	for _, peer := range s.Peers {
		out.Peers = append(out.Peers, r.policyPeer(peer, s, namespace))
	}
	for _, port := range s.Ports {
		if p, ok := r.policyPort(port, s.Origin); ok {
			out.Ports = append(out.Ports, p)
		}
	}
	return out
}

// policyPeer resolves a peer of a NetworkPolicy. Without a namespace selector it is
// about pods of the policy's own namespace.
func (r *resolver) policyPeer(s PeerSpec, rule PolicyRuleSpec, namespace string) PolicyPeer {
	out := PolicyPeer{Origin: s.Origin}
	block := s.Block.Origin != (Origin{}) || s.Block.Set
	where := at(s.Origin, rule.Origin)
	if s.Networks.Origin != (Origin{}) || s.Networks.Set {
		r.errorf(at(s.Networks.Origin, s.Origin), "Networks in a policy", "Only rules of a cluster_policy have networks. Write ip_block { cidr = \"…\" }.")
	} else if !block && !s.PodSelector.Set && !s.NamespaceSelector.Set {
		r.errorf(where, "Empty peer",
			"A peer must specify pod_selector, namespace_selector or ip_block. Write pod_selector = {} for all pods of the namespace, or remove the block for everybody.")
	}
	switch {
	case block && (s.PodSelector.Set || s.NamespaceSelector.Set):
		r.errorf(at(s.Block.Origin, s.Origin), "Block mixed with selectors",
			"A peer may not specify both ip_block and another peer. Write two peers, which stand for either.")
	case block:
		r.policyBlock(s, &out)
		return out
	}
	pods, ok := r.selector(s.PodSelector)
	namespaces, also := r.selector(s.NamespaceSelector)
	if !ok || !also || !s.PodSelector.Set && !s.NamespaceSelector.Set {
		return out
	}
	out.Pods = r.podsWhere(func(p *Pod) bool {
		if s.NamespaceSelector.Set {
			return r.namespaceMatches(namespaces, p.Namespace) && pods.matches(p.Labels)
		}
		return p.Namespace == namespace && pods.matches(p.Labels)
	})
	return out
}

func (r *resolver) namespaceMatches(s selector, name string) bool {
	ns := r.namespaces[name]
	return ns != nil && s.matches(ns.Labels)
}

// policyBlock resolves a block of addresses and its exceptions.
func (r *resolver) policyBlock(s PeerSpec, out *PolicyPeer) {
	if !s.Block.Set {
		return // reported by the reader
	}
	out.Block = s.Block.Value.Masked()
	r.hostBits(s.Block.Value, s.Block.Origin)
	for _, e := range s.Except {
		if !e.Set {
			continue
		}
		r.hostBits(e.Value, e.Origin)
		except := e.Value.Masked()
		if except.Addr().Is6() != out.Block.Addr().Is6() || except.Bits() <= out.Block.Bits() || !out.Block.Contains(except.Addr()) {
			r.errorf(at(e.Origin, s.Origin), "Exception outside its block",
				"except %s must be a strict subset of cidr %s. Use a longer prefix inside it, or write another peer.", except, out.Block)
			continue
		}
		out.Except = append(out.Except, except)
	}
}

// hostBits warns of a prefix that means another one than it seems to.
func (r *resolver) hostBits(p netip.Prefix, origin Origin) {
	if p != p.Masked() {
		r.warnf(at(origin), "CIDR has host bits", "%s has bits behind its prefix length, so it means %s. Write that.", p, p.Masked())
	}
}

// podsWhere are the pods with a network of their own for which f holds.
func (r *resolver) podsWhere(f func(*Pod) bool) []*Pod {
	var out []*Pod
	for _, p := range r.lab.Pods {
		if !p.HostNetwork && f(p) {
			out = append(out, p)
		}
	}
	return out
}

// warnUnselected warns of a policy about no pod: a scenario may want that, but a slip
// looks the same.
func (r *resolver) warnUnselected(who, what string, pods []*Pod, where []Origin) {
	if len(pods) == 0 {
		r.warnf(where, "Policy selects no pod",
			"No %s is selected by %s; pods on the host's network never are. Correct the selector, or leave it if that is what you want.", what, who)
	}
}
