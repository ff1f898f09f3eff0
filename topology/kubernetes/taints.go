package kubernetes

import (
	"slices"
	"strings"
)

// taint keeps pods from a node that do not tolerate it (core/v1.Taint).
type taint struct {
	Key    str      `k:"key"`
	Value  str      `k:"value"`
	Effect str      `k:"effect"`
	_      struct{} `k:"timeAdded"`
}

// toleration lets a pod on nodes with a taint (core/v1.Toleration).
type toleration struct {
	Key      str      `k:"key"`
	Operator str      `k:"operator"`
	Value    str      `k:"value"`
	Effect   str      `k:"effect"`
	_        struct{} `k:"tolerationSeconds"`
}

const (
	nodeTaints    = "node.kubernetes.io/"
	unschedulable = nodeTaints + "unschedulable"
)

// taints are those of a node that keep pods away, with the one that cordoning it adds.
func (n *nodeObject) taints() (out []taint) {
	for _, t := range n.Spec.Taints {
		if t.Effect.Value == "NoSchedule" || t.Effect.Value == "NoExecute" {
			out = append(out, t)
		}
	}
	if n.Spec.Unschedulable.Value {
		out = append(out, taint{Key: str{Value: unschedulable}, Effect: str{Value: "NoSchedule"}})
	}
	return out
}

// tolerates reports a pod that may run on a node with these taints (ToleratesTaint in
// k8s.io/component-helpers). That of a DaemonSet may run on all nodes that are not well
// (pkg/controller/daemon/util, AddOrUpdateDaemonPodTolerations).
func (p *podSpec) tolerates(taints []taint, daemon bool) bool {
	return !slices.ContainsFunc(taints, func(t taint) bool {
		if daemon && strings.HasPrefix(t.Key.Value, nodeTaints) {
			return false
		}
		return !slices.ContainsFunc(p.Tolerations, func(x toleration) bool {
			all := x.Operator.Value == "Exists"
			return (x.Effect.Value == "" || x.Effect.Value == t.Effect.Value) && (x.Key.Value == t.Key.Value || x.Key.Value == "" && all) && (all || x.Value.Value == t.Value.Value)
		})
	})
}
