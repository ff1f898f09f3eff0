package language

import (
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// checkVersion compares required_version, such as ">= 1.2, < 2", with the version of
// the program. A version that is not a release meets every constraint.
func (l *loader) checkVersion(want topology.Opt[string], have string) {
	var is [3]int
	released := have != "" && parseVersion(strings.TrimPrefix(have, "v"), &is) > 0
	for c := range strings.SplitSeq(want.Value, ",") {
		c = strings.TrimSpace(c)
		op := c[:len(c)-len(strings.TrimLeft(c, "<>=!~"))]
		var than [3]int
		parts := parseVersion(strings.TrimSpace(strings.TrimPrefix(c, op)), &than)
		meets, known := meetsVersion(op, is, than, parts)
		if parts == 0 || !known {
			l.Errorf(source.RangeOf(want.Origin), "Invalid version constraint", "%q is not a version constraint. Write required_version = \">= 1.0\".", c)
			return
		}
		if released && !meets {
			l.Errorf(source.RangeOf(want.Origin), "Another version required", "This scenario requires netlab %s, but this is %s. Install that version.", c, have)
			return
		}
	}
}

// parseVersion reads up to three numbers and returns how many there are.
func parseVersion(s string, out *[3]int) int {
	s, _, _ = strings.Cut(s, "-")
	fields := strings.Split(s, ".")
	if len(fields) > 3 {
		return 0
	}
	for i, f := range fields {
		n, err := strconv.Atoi(f)
		if err != nil || n < 0 {
			return 0
		}
		out[i] = n
	}
	return len(fields)
}

func meetsVersion(op string, is, than [3]int, parts int) (meets, known bool) {
	order := slices.Compare(is[:], than[:])
	switch op {
	case "", "=":
		return order == 0, true
	case "!=":
		return order != 0, true
	case ">":
		return order > 0, true
	case ">=":
		return order >= 0, true
	case "<":
		return order < 0, true
	case "<=":
		return order <= 0, true
	case "~>": // all but the last given number are fixed
		fixed := max(parts-1, 1)
		return order >= 0 && slices.Equal(is[:fixed], than[:fixed]), true
	}
	return false, false
}
