package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
)

// UnsupportedError says which kernel features a plan needs and this machine
// lacks, and why.
type UnsupportedError struct {
	Missing map[plan.Feature]error
}

func (e *UnsupportedError) Error() string {
	var list []string
	for _, f := range slices.Sorted(maps.Keys(e.Missing)) {
		list = append(list, fmt.Sprintf("%s (%v)", f, e.Missing[f]))
	}
	return "this machine lacks what the lab needs: " + strings.Join(list, ", ")
}
