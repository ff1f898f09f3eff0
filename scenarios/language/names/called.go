package names

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

// Called holds the names of a node, client or pod.
type Called struct {
	Kind      string // node, client or pod
	Name      string
	Netns     string // in the plan
	Namespace string // of a pod
	Block     string // of a pod, with Key: pod.web["0"]
	Key       string
}

// NameError reports a name that is unknown in a lab, or ambiguous.
type NameError struct {
	err  string
	Hint string // what to write instead
}

func (e *NameError) Error() string { return e.err }

// Display is the shortest unambiguous name: db/web-0 for a pod outside the
// namespace default.
func (c Called) Display() string {
	if c.Namespace != "" && c.Namespace != topology.DefaultNamespace {
		return c.Namespace + "/" + c.Name
	}
	return c.Name
}

// Lookup returns the index of the one that a user means: by web-0, pod/web-0,
// db/web-0, pod/db/web-0, pod.web-0, pod.web["0"], node1, node/node1 or
// client.laptop. The error is a *NameError.
func Lookup(name string, all []Called) (int, error) {
	var found []int
	var displays []string
	for i, c := range all {
		displays = append(displays, c.Display())
		if slices.Contains(c.aliases(), name) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, unknownName(name, displays, "known names: "+strings.Join(firstOf(displays, 20), ", "))
	}
	var full []string
	for _, i := range found {
		full = append(full, all[i].Kind+"/"+all[i].Display())
	}
	return 0, &NameError{fmt.Sprintf("%q is ambiguous", name), "write one of: " + strings.Join(full, ", ")}
}

// unknownName suggests the nearest known name, else what otherwise says.
func unknownName(name string, known []string, otherwise string) error {
	if near := topology.Nearest(name, known); near != "" {
		otherwise = "did you mean " + near + "? " + otherwise
	}
	return &NameError{fmt.Sprintf("nothing in this lab is called %q", name), otherwise}
}

func (c Called) aliases() []string {
	list := []string{c.Netns}
	for _, name := range []string{c.Name, c.Display(), c.Namespace + "/" + c.Name} {
		list = append(list, name, c.Kind+"/"+name, c.Kind+"."+name)
	}
	if c.Key != "" {
		list = append(list, fmt.Sprintf("pod.%s[%q]", c.Block, c.Key), fmt.Sprintf("pod.%s[%s]", c.Block, c.Key))
	}
	return list
}

func firstOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", len(list)-n))
}
