package topology

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// maxNearest is the longest name, in bytes, for which a near one is searched:
// longer names are copied, not typed, and the search is quadratic.
const maxNearest = 64

// Nearest returns the known name that the given one is most likely a typo of, or
// "" when none is near: at most a third of its letters differ.
func Nearest(name string, known []string) string {
	if name == "" || len(name) > maxNearest {
		return ""
	}
	for _, k := range append(strings.Fields(kubernetes[name]), snake(name)) {
		if k != name && slices.Contains(known, k) {
			return k
		}
	}
	sorted := slices.Clone(known)
	slices.Sort(sorted)
	best, distance := "", max(1, len(name)/3)+1
	for _, k := range sorted {
		if len(k) > maxNearest || k == name {
			continue
		}
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// kubernetes has the names that manifests write for what is called differently here, apart
// from the case; several where that depends on the block.
var kubernetes = map[string]string{
	"nodeName": "node", "containerPort": "port", "serviceName": "service", "clusterIPs": "cluster_ip",
	"loadBalancerIP": "load_balancer_ip", "externalIPs": "external_ips", "podCIDR": "pod_cidr", "clusterCIDR": "pod_cidr",
	"serviceCIDR": "service_cidr", "ipBlock": "ip_block", "terminationGracePeriodSeconds": "terminating", "args": "command",
	"timeoutSeconds": "timeout", "replicas": "count", "matchLabels": "match_labels", "workingDir": "work_dir",
	"ip": "cluster_ip address", "timeout": "within", "restartPolicy": "restart", "readinessProbe": "ready",
}

// snake is the name in snake case: targetPort is target_port.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Word is the known word that is written, also in capitals as Kubernetes writes
// protocols; "" if it is none.
func Word(written string, known []string) string {
	for _, k := range known {
		if written == k || written == strings.ToUpper(k) {
			return k
		}
	}
	return ""
}

// DidYouMean is a sentence that suggests the nearest of the known names, with a
// leading space, or "".
func DidYouMean(name string, known []string) string {
	if n := Nearest(name, known); n != "" {
		return fmt.Sprintf(" Did you mean %q?", n)
	}
	return ""
}

// OneOf lists known words for a sentence.
func OneOf(known []string) string {
	if len(known) < 2 {
		return strings.Join(known, "")
	}
	return strings.Join(known[:len(known)-1], ", ") + " or " + known[len(known)-1]
}

// editDistance is the number of insertions, deletions, substitutions and swaps
// of neighbours that lead from a to b (optimal string alignment).
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
