package calico

import (
	"maps"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

// selectorText is what Calico makes of a peer of a NetworkPolicy: its namespaces, then its pods
// (k8sSelectorToCalico in libcalico-go/lib/backend/k8s/conversion and getEndpointSelector in
// lib/backend/syncersv1/updateprocessors), printed as Felix parsed it (lib/selector/parser).
func selectorText(namespace string, p *topology.PolicyPeer) string {
	namespaces := []string{equals("projectcalico.org/namespace", namespace)}
	if p.NamespaceSelector.Set {
		namespaces = terms(p.NamespaceSelector, "pcns.")
	}
	if len(namespaces) == 0 {
		namespaces = []string{"has(projectcalico.org/namespace)"}
	}
	pods := append([]string{equals("projectcalico.org/orchestrator", "k8s")}, terms(p.PodSelector, "")...)
	return all([]string{all(namespaces), all(pods)})
}

// terms are the conditions of a selector: labels in order, then expressions as written. Each
// label is called by its key after a prefix.
func terms(s topology.SelectorSpec, prefix string) []string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		list = append(list, equals(prefix+key, s.MatchLabels[key]))
	}
	for _, e := range s.Expressions {
		key := prefix + e.Key.Value
		switch e.Operator.Value {
		case "In":
			list = append(list, key+" in "+among(e.Values.Value))
		case "NotIn":
			list = append(list, key+" not in "+among(e.Values.Value))
		case "Exists":
			list = append(list, "has("+key+")")
		case "DoesNotExist":
			list = append(list, "!has("+key+")")
		}
	}
	return list
}

func equals(key, value string) string { return key + ` == "` + value + `"` }

func among(values []string) string {
	return `{"` + strings.Join(slices.Compact(slices.Sorted(slices.Values(values))), `", "`) + `"}`
}

// all are conditions that have to hold together.
func all(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return "(" + strings.Join(list, " && ") + ")"
}
