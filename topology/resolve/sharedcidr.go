package resolve

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// checkSharedCIDR reports what a lab cannot have where the pods of different nodes have the
// same addresses.
func (r *resolver) checkSharedCIDR() {
	s, mode := r.Spec, r.Lab.Network.Mode
	if !mode.SharedCIDR {
		return
	}
	refuse := func(where []topology.Origin, summary, why string) {
		r.Errorf(where, summary, "In network mode %q %s, or use another mode.", mode.Name, why)
	}
	for _, o := range []topology.Opt[int]{s.Network.NodePrefix, s.Network.NodePrefix6} {
		if o.Set {
			refuse(draft.At(o.Origin), "Nodes share the pod CIDR", "every node has the whole pod_cidr for its own pods. Remove node_prefix")
		}
	}
	if o := s.Network.MasqueradeNodeTraffic; o.Set && !o.Value {
		refuse(draft.At(o.Origin), "Pods are always masqueraded", "a pod's address means another pod on every other node, so that what leaves its node has the node's address. Remove masquerade_node_traffic")
	}
	if o := s.Proxy.Mode; o.Set && r.Lab.Proxy.Mode.Translates {
		refuse(draft.At(o.Origin), "No proxy in this mode", "nodes have no services, and so no proxy. Remove the mode of the proxy")
	}
	if len(s.Services) > 0 {
		refuse(draft.At(s.Services[0].Origin), "No services in this mode", "pods of different nodes have the same addresses, so that a service cannot tell its endpoints apart. Publish ports of pods by host_port")
	}
	policies := make([]topology.Origin, 0, len(s.Policies)+len(s.ClusterPolicies))
	for _, p := range s.Policies {
		policies = append(policies, p.Origin)
	}
	for _, p := range s.ClusterPolicies {
		policies = append(policies, p.Origin)
	}
	if len(policies) > 0 {
		refuse(policies, "No policies in this mode", "pods of different nodes have the same addresses, so that a policy cannot tell them apart. Remove the policies")
	}
}

// checkOnlyIPv4 reports IPv6 where pods have none.
func (r *resolver) checkOnlyIPv4() {
	s, mode := &r.Spec.Network, r.Lab.Network.Mode
	if _, v6 := r.families(); !v6 || !mode.OnlyIPv4 {
		return
	}
	written := draft.At(s.Families.Origin)
	for _, o := range []topology.Opt[[]netip.Prefix]{s.PodCIDRs, s.ServiceCIDRs, s.NodeCIDRs} {
		if slices.ContainsFunc(o.Value, func(p netip.Prefix) bool { return p.Addr().Is6() }) {
			written = append(written, o.Origin)
		}
	}
	r.Errorf(append(written, s.Mode.Origin), "No IPv6 in this mode",
		"In network mode %q pods have IPv4 addresses only. Remove what is of IPv6, or use another mode.", mode.Name)
}
