package draft

import "maps"

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

// Labels are labels as written; never nil.
func Labels(written map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, written)
	return out
}
