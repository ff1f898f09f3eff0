package topology

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// Policies says how network policies are enforced.
type Policies struct {
	Style      PolicyStyle
	Deny       string // drop or reject
	Live       string // keep or cut
	HostEgress bool   // egress policies apply to packets to the pod's own node, too
	// Agent does the work of the style; nil: rules of the plan do.
	Agent  *Agent
	Origin Origin
}

// Name is the style as a scenario names it.
func (p *Policies) Name() string {
	if p.Agent != nil {
		return p.Agent.Mode
	}
	return p.Style.Name
}

// What happens to denied packets: dropped, or rejected with an error to the dialer.
const (
	DenyDrop   = "drop"
	DenyReject = "reject"
)

// Policy is a NetworkPolicy (networking.k8s.io/v1). A direction in which it does not
// isolate has no rules.
type Policy struct {
	Name      string
	Namespace string
	Pods      []*Pod // that it selects, by namespace and name: never on the host's network
	Ingress   Direction
	Egress    Direction
	Origin    Origin
}

// Direction is what a policy says about one direction.
type Direction struct {
	Isolates bool
	Rules    []PolicyRule
}

// Direction is what the policy says about ingress or egress.
func (p *Policy) Direction(egress bool) *Direction {
	if egress {
		return &p.Egress
	}
	return &p.Ingress
}

// PolicyTier is a tier of cluster policies.
type PolicyTier string

// The tiers: Admin before the network policies, Baseline after them, for pods that
// no network policy isolates.
const (
	AdminTier    PolicyTier = "Admin"
	BaselineTier PolicyTier = "Baseline"
)

// ClusterPolicy is a ClusterNetworkPolicy (policy.networking.k8s.io/v1alpha2). Those of
// a lab are in the order of evaluation: by tier, priority and name.
type ClusterPolicy struct {
	Name     string
	Tier     PolicyTier
	Priority int
	Pods     []*Pod // as of a Policy
	Ingress  []PolicyRule
	Egress   []PolicyRule
	Origin   Origin
}

// Rules are those of ingress or egress.
func (p *ClusterPolicy) Rules(egress bool) []PolicyRule {
	if egress {
		return p.Egress
	}
	return p.Ingress
}

// PolicyAction is what a rule does with what it matches.
type PolicyAction string

// The actions. Rules of a NetworkPolicy accept.
const (
	PolicyAccept PolicyAction = "Accept"
	PolicyDeny   PolicyAction = "Deny"
	PolicyPass   PolicyAction = "Pass" // on to the network policies
)

// PolicyRule matches connections by their other end and their port. Without Peers it
// matches any other end, inside the cluster or not; without Ports any port of
// any protocol.
type PolicyRule struct {
	Name   string
	Action PolicyAction
	Peers  []PolicyPeer
	Ports  []PolicyPort
	Origin Origin
}

// PolicyPeer is one peer of a rule: pods that selectors chose, perhaps none, or a
// block of addresses.
type PolicyPeer struct {
	Pods   []*Pod       // by namespace and name; never on the host's network
	Block  netip.Prefix // valid: a block of addresses, pods or not
	Except []netip.Prefix
	// PodSelector and NamespaceSelector are as written in the rule of a NetworkPolicy. They
	// decided on Pods already; names are made of them.
	PodSelector, NamespaceSelector SelectorSpec
	Origin                         Origin
}

// PolicyPort is a port of a rule: a range of numbers, ends included (0 to 65535 where
// the rule names none), or a name that the destination pod declares.
type PolicyPort struct {
	Protocol    Protocol
	First, Last uint16
	Name        string // instead of First and Last
	Origin      Origin
}

// HasPod reports whether a list of pods, sorted by namespace and name, has a pod: lists
// can be long, and there can be many.
func HasPod(list []*Pod, pod *Pod) bool {
	i, found := slices.BinarySearchFunc(list, pod, func(a, b *Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return found && list[i] == pod
}
