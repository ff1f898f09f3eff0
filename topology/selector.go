package topology

import (
	"maps"
	"slices"
	"strings"
)

// Matches reports whether labels carry every key of the selector with the same
// value. An empty selector matches everything, as in Kubernetes.
func Matches(selector, labels map[string]string) bool {
	for k, v := range selector {
		if have, ok := labels[k]; !ok || have != v {
			return false
		}
	}
	return true
}

// formatLabels is a label map as kubectl prints it: sorted, key=value, commas.
func formatLabels(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ",")
}
