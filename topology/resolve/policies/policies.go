package policies

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// The policy types, which are directions.
const (
	typeIngress = "Ingress"
	typeEgress  = "Egress"
)

// resolver resolves policies in a draft.
type resolver struct{ *draft.Draft }

// Resolve resolves everything about network policies. Pods are resolved and
// sorted by then.
func Resolve(d *draft.Draft) {
	r := &resolver{d}
	s, o := &r.Spec.PolicyOptions, &r.Lab.PolicyOptions
	styles := r.Catalogue.StyleNames()
	o.Style = r.Catalogue.Styles[slices.Index(styles, r.Enum(s.Style, "policy style", cmp.Or(r.Lab.Network.Mode.Style, styles[0]), styles, nil))]
	if o.Style.Exec {
		o.Agent = &topology.Agent{Mode: o.Style.Name}
		known := r.Catalogue.StylesThat(func(s topology.PolicyStyle) bool { return !s.Exec })
		like := r.Enum(s.Agent.Like, "style to be like", cmp.Or(r.Lab.Network.Mode.Style, known[0]), known, nil)
		o.Style = topology.First(r.Catalogue.Styles, func(s topology.PolicyStyle) bool { return s.Name == like })
	}
	o.Deny = r.Enum(s.Deny, "deny setting", topology.DenyDrop, []string{topology.DenyDrop, topology.DenyReject}, nil)
	o.Live = r.Enum(s.Live, "live setting", "keep", []string{"keep", "cut"}, nil)
	o.HostEgress = r.Enum(s.HostEgress, "host_egress setting", "allow", []string{"allow", "enforce"}, nil) == "enforce"
	o.Origin = s.Origin
	r.ignored()
	seen := map[string]topology.Origin{}
	for _, p := range r.Spec.Policies {
		r.policy(p, seen)
	}
	slices.SortFunc(r.Lab.Policies, func(a, b *topology.Policy) int { return draft.ByNamespace(a.Namespace, b.Namespace, a.Name, b.Name) })
	seen = map[string]topology.Origin{}
	for _, p := range r.Spec.ClusterPolicies {
		r.clusterPolicy(p, seen)
	}
	slices.SortFunc(r.Lab.ClusterPolicies, func(a, b *topology.ClusterPolicy) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
	})
	r.Of("policy", "", "")
	r.ambiguous()
}

// ignored warns of options of policies that nothing enforces.
func (r *resolver) ignored() {
	s, style := &r.Spec.PolicyOptions, r.Lab.PolicyOptions.Style
	if !style.Ignores {
		return
	}
	enforcing := r.Catalogue.StylesThat(func(s topology.PolicyStyle) bool { return !s.Exec && !s.Ignores })
	for _, x := range []struct {
		name string
		at   topology.Opt[string]
	}{{"deny", s.Deny}, {"live", s.Live}, {"host_egress", s.HostEgress}} {
		if x.at.Set {
			r.Warnf(draft.At(x.at.Origin, s.Origin), "Option without effect", "%s has no effect, since nothing enforces policies in style %s. Remove it, or use style %s.", x.name, style.Name, topology.OneOf(enforcing))
		}
	}
}

// policyName reports a name that is not a DNS subdomain, as Kubernetes requires.
func (r *resolver) policyName(kind, name string, origin topology.Origin) {
	if !draft.IsDNSSubdomain(name) || strings.HasSuffix(name, ".") {
		r.CheckName(kind, name, origin)
	}
}

func (r *resolver) policy(s topology.PolicySpec, seen map[string]topology.Origin) {
	r.Of("policy", s.Written.Block, s.Written.Key)
	named := cmp.Or(s.Written.Named, s.Origin)
	r.policyName("policy", s.Name, named)
	p := &topology.Policy{Name: s.Name, Namespace: r.Namespace(s.Namespace), Origin: s.Origin}
	if !r.Unique(seen, "policy", p.Namespace+"/"+p.Name, named) {
		return
	}
	pods, usable := r.selector(s.PodSelector)
	if usable {
		p.Pods = r.podsWhere(func(pod *topology.Pod) bool { return pod.Namespace == p.Namespace && pods.matches(pod.Labels) })
		r.warnUnselected(fmt.Sprintf("policy %q", p.Name), fmt.Sprintf("pod of namespace %q", p.Namespace), p.Pods, draft.At(s.PodSelector.Origin, s.Origin))
	}
	ingress, egress := r.policyTypes(s)
	p.Ingress = topology.Direction{Isolates: ingress}
	p.Egress = topology.Direction{Isolates: egress}
	// Rules without effect are still checked, as the API server does.
	for _, d := range []struct {
		rules []topology.PolicyRuleSpec
		name  string
		to    *topology.Direction
	}{{s.Ingress, typeIngress, &p.Ingress}, {s.Egress, typeEgress, &p.Egress}} {
		for _, rule := range d.rules {
			if resolved := r.policyRule(rule, p.Namespace); d.to.Isolates {
				d.to.Rules = append(d.to.Rules, resolved)
			}
		}
		if len(d.rules) > 0 && !d.to.Isolates {
			r.Warnf(draft.At(d.rules[0].Origin, s.Origin), "Rules without effect",
				"policy_types does not list %q, so the %s rules of policy %q have no effect. Add it to policy_types, or remove the rules.",
				d.name, strings.ToLower(d.name), p.Name)
		}
	}
	r.Lab.Policies = append(r.Lab.Policies, p)
}

// policyTypes returns the directions in which a policy isolates: those that it names,
// else Ingress, and Egress where it has egress rules.
func (r *resolver) policyTypes(s topology.PolicySpec) (ingress, egress bool) {
	o := s.PolicyTypes
	if len(o.Value) == 0 {
		return true, len(s.Egress) > 0
	}
	types := []string{typeIngress, typeEgress}
	if len(o.Value) > len(types) {
		r.Errorf(draft.At(o.Origin, s.Origin), "Too many policy types", "A policy may not specify more than two policy types. Use \"Ingress\", \"Egress\" or both.")
		return true, true
	}
	for i, t := range o.Value {
		switch {
		case !slices.Contains(types, t):
			r.Errorf(draft.At(o.Origin, s.Origin), "Unknown policy type", "%q is not a policy type.%s Use \"Ingress\" or \"Egress\".", draft.Shorten(t), topology.DidYouMean(t, types))
		case slices.Contains(o.Value[:i], t):
			r.Warnf(draft.At(o.Origin, s.Origin), "Policy type twice", "policy_types lists %q twice. Remove one of them, or write \"Ingress\" and \"Egress\".", t)
		}
	}
	return slices.Contains(o.Value, typeIngress), slices.Contains(o.Value, typeEgress)
}

// policyRule resolves a rule of a NetworkPolicy.
func (r *resolver) policyRule(s topology.PolicyRuleSpec, namespace string) topology.PolicyRule {
	out := topology.PolicyRule{Name: s.Name, Action: topology.PolicyAccept, Origin: s.Origin}
	for _, peer := range s.Peers {
		out.Peers = append(out.Peers, r.policyPeer(peer, s, namespace))
	}
	out.Ports = r.policyPorts(s)
	return out
}

// policyPeer resolves a peer of a NetworkPolicy. Without a namespace selector it
// selects pods of the policy's own namespace.
func (r *resolver) policyPeer(s topology.PeerSpec, rule topology.PolicyRuleSpec, namespace string) topology.PolicyPeer {
	out := topology.PolicyPeer{Origin: s.Origin}
	block := s.Block.Origin != (topology.Origin{}) || s.Block.Set
	where := draft.At(s.Origin, rule.Origin)
	if s.Networks.Origin != (topology.Origin{}) || s.Networks.Set {
		r.Errorf(draft.At(s.Networks.Origin, s.Origin), "Networks in a policy", "Only rules of a cluster_policy have networks. Write ip_block { cidr = \"…\" }.")
	} else if !block && !s.PodSelector.Set && !s.NamespaceSelector.Set {
		r.Errorf(where, "Empty peer",
			"A peer must specify pod_selector, namespace_selector or ip_block. Write pod_selector = {} for all pods of the namespace, or remove the block to match all peers.")
	}
	switch {
	case block && (s.PodSelector.Set || s.NamespaceSelector.Set):
		r.Errorf(draft.At(s.Block.Origin, s.Origin), "Block mixed with selectors",
			"A peer may not specify both ip_block and another peer. Write two peers instead.")
	case block:
		r.policyBlock(s, &out)
		return out
	}
	pods, ok := r.selector(s.PodSelector)
	namespaces, also := r.selector(s.NamespaceSelector)
	if !ok || !also || !s.PodSelector.Set && !s.NamespaceSelector.Set {
		return out
	}
	out.PodSelector, out.NamespaceSelector = s.PodSelector, s.NamespaceSelector
	out.Pods = r.podsWhere(func(p *topology.Pod) bool {
		if s.NamespaceSelector.Set {
			return r.namespaceMatches(namespaces, p.Namespace) && pods.matches(p.Labels)
		}
		return p.Namespace == namespace && pods.matches(p.Labels)
	})
	return out
}

func (r *resolver) namespaceMatches(s selector, name string) bool {
	ns := r.Namespaces[name]
	return ns != nil && s.matches(ns.Labels)
}

// policyBlock resolves a block of addresses and its exceptions.
func (r *resolver) policyBlock(s topology.PeerSpec, out *topology.PolicyPeer) {
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
			r.Errorf(draft.At(e.Origin, s.Origin), "Exception outside its block",
				"except %s must be a strict subset of cidr %s. Use a longer prefix inside it, or write another peer.", except, out.Block)
			continue
		}
		out.Except = append(out.Except, except)
	}
}

// hostBits warns of a prefix that does not mean what it seems to.
func (r *resolver) hostBits(p netip.Prefix, origin topology.Origin) {
	if p != p.Masked() {
		r.Warnf(draft.At(origin), "CIDR has host bits", "%s has bits beyond its prefix length, so it means %s. Write that.", p, p.Masked())
	}
}

// podsWhere are the pods with a network of their own for which f holds.
func (r *resolver) podsWhere(f func(*topology.Pod) bool) []*topology.Pod {
	var out []*topology.Pod
	for _, p := range r.Lab.Pods {
		if !p.HostNetwork && f(p) {
			out = append(out, p)
		}
	}
	return out
}

// warnUnselected warns of a policy that selects no pod: it may be intended, but a typo
// looks the same.
func (r *resolver) warnUnselected(who, what string, pods []*topology.Pod, where []topology.Origin) {
	if len(pods) == 0 {
		r.Warnf(where, "Policy selects no pod",
			"No %s is selected by %s; pods on the host's network never are. Correct the selector, or leave it if that is what you want.", what, who)
	}
}
