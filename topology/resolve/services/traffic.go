package services

import (
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// policies resolves the traffic policies.
func (r *resolver) policies(s *resolving) {
	known := []string{string(topology.PolicyCluster), string(topology.PolicyLocal)}
	external := s.spec.ExternalTrafficPolicy
	s.ExternalTrafficPolicy = topology.TrafficPolicy(r.Enum(external, "traffic policy", string(topology.PolicyCluster), known, nil))
	s.InternalTrafficPolicy = topology.TrafficPolicy(r.Enum(s.spec.InternalTrafficPolicy, "traffic policy", string(topology.PolicyCluster), known, nil))
	if external.Set && !s.external() && !s.broken {
		r.Errorf(draft.At(external.Origin), "External policy without external traffic",
			"external_traffic_policy may only be set for externally-accessible services. Use type = \"NodePort\", or remove it.")
	}
}

// The bounds of the affinity timeout in seconds, and its default: three hours.
const (
	defaultAffinity = 10800
	maxAffinity     = 86400
)

// affinity resolves the session affinity.
func (r *resolver) affinity(s *resolving) {
	kind := r.Enum(s.spec.SessionAffinity, "session affinity", "None", []string{"None", "ClientIP"}, nil)
	timeout := s.spec.AffinitySeconds
	switch {
	case kind != "ClientIP":
		if timeout.Set {
			r.Errorf(draft.At(timeout.Origin), "Timeout without affinity",
				"An affinity timeout must not be set when session affinity is \"None\". Set session_affinity = \"ClientIP\", or remove it.")
		}
	case timeout.Set && (timeout.Value < 1 || timeout.Value > maxAffinity):
		r.Errorf(draft.At(timeout.Origin), "Affinity timeout out of range",
			"The affinity timeout %d must be greater than 0 and at most %d seconds, which is one day. Use a number from 1 to %d.",
			timeout.Value, maxAffinity, maxAffinity)
	default:
		s.AffinitySeconds = timeout.Or(defaultAffinity)
	}
}

// The traffic distributions that are not just an alias.
const (
	preferSameZone = "PreferSameZone"
	preferSameNode = "PreferSameNode"
)

// distribution resolves the traffic distribution. PreferClose is the former name of
// PreferSameZone.
func (r *resolver) distribution(s *resolving) {
	o := s.spec.TrafficDistribution
	s.TrafficDistribution = r.Enum(o, "traffic distribution", "", []string{"PreferClose", preferSameZone, preferSameNode}, nil)
	if s.TrafficDistribution == "PreferClose" {
		s.TrafficDistribution = preferSameZone
	}
}

// hints derives topology hints as the EndpointSlice controller does: endpoints that
// are ready should be used in their own zone and, for PreferSameNode, on their own
// node (k8s.io/endpointslice/trafficdist). What is unknown adds no hint.
func (s *resolving) hints(e *topology.Endpoint) {
	if s.TrafficDistribution == "" || !e.Ready {
		return
	}
	if e.Zone != "" {
		e.ForZones = []string{e.Zone}
	}
	if s.TrafficDistribution == preferSameNode && e.Node != "" {
		e.ForNodes = []string{e.Node}
	}
}

// ready applies publishNotReadyAddresses: the address of every pod is published as
// ready, terminating ones included.
func (s *resolving) ready(p *topology.Pod) bool { return p.Ready || s.PublishNotReadyAddresses }

// sortedNames is a set of names: sorted, each once.
func sortedNames(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
