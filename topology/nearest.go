package topology

import (
	"fmt"
	"slices"
	"strings"
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
