package names

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

// Called is a node, client, router or pod, with what it is called.
type Called struct {
	Kind      string       `json:"kind"` // node, client, router or pod
	Name      string       `json:"name"`
	Block     string       `json:"block,omitempty"` // with Key, how expressions refer to it: pod.web["0"]
	Key       string       `json:"key,omitempty"`
	Namespace string       `json:"namespace,omitempty"`
	Node      string       `json:"node,omitempty"`
	Netns     string       `json:"netns"` // in the plan
	Addrs     []netip.Addr `json:"addresses"`
	Ports     []string     `json:"ports,omitempty"` // such as tcp/80, or tcp/80 (host port 8080)
}

// All are the nodes, clients, routers and pods of a lab.
func All(lab *topology.Lab) []Called {
	var all []Called
	for _, n := range lab.Nodes {
		all = append(all, Called{Kind: "node", Name: n.Name, Block: n.Written.Block, Key: n.Written.Key, Netns: n.Netns(), Addrs: n.Addrs})
	}
	for _, c := range lab.Clients {
		all = append(all, Called{Kind: "client", Name: c.Name, Block: c.Written.Block, Key: c.Written.Key, Netns: c.Netns(), Addrs: c.Addrs, Ports: portList(c.Ports)})
	}
	for _, r := range lab.Routers {
		all = append(all, Called{Kind: "router", Name: r.Name, Block: r.Written.Block, Key: r.Written.Key, Netns: r.Netns(), Addrs: r.Addrs()})
	}
	for _, p := range lab.Pods {
		all = append(all, Called{Kind: "pod", Name: p.Name, Block: p.Block, Key: p.Key, Namespace: p.Namespace,
			Node: p.Node.Name, Netns: p.Netns(), Addrs: p.Addrs, Ports: portList(p.Ports)})
	}
	return all
}

func portList(ports []topology.Port) []string {
	var list []string
	for _, p := range ports {
		port := fmt.Sprintf("%s/%d", p.Protocol, p.Number)
		if p.HostPort != 0 {
			port += fmt.Sprintf(" (host port %d)", p.HostPort)
		}
		list = append(list, port)
	}
	return list
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

// among is a name that no other one of the list has.
func (c Called) among(list []Called) string {
	if slices.ContainsFunc(list, func(o Called) bool { return o.Kind == c.Kind && o.Name == c.Name && o.Namespace != c.Namespace }) {
		return c.Kind + "/" + c.Namespace + "/" + c.Name
	}
	return c.Kind + "/" + c.Display()
}

// Unique is a name by which Lookup finds what is displayed by a name and lives in a network
// namespace: the same name, if nothing else has it.
func Unique(display, netns string, all []Called) string {
	if _, err := Lookup(display, all); err == nil {
		return display
	}
	i := slices.IndexFunc(all, func(c Called) bool { return c.Netns == netns && c.Display() == display })
	if i < 0 {
		return display
	}
	return all[i].among(all)
}

// Lookup returns the one that a user means: by web-0, pod/web-0,
// db/web-0, pod/db/web-0, pod.web-0, node1, node/node1 or client.laptop, and by the address
// in expressions, such as pod.web["0"] or node.edge, which wins. The error is a *NameError.
func Lookup(name string, all []Called) (Called, error) {
	var found []Called
	var displays []string
	for _, c := range all {
		if slices.Contains(addresses(c.Kind, c.Block, c.Key), name) {
			return c, nil
		}
	}
	for _, c := range all {
		displays = append(displays, c.Display())
		if slices.Contains(c.aliases(), name) {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Called{}, unknownName(name, displays, "known names: "+strings.Join(firstOf(displays, 20), ", "))
	}
	var full []string
	for _, c := range found {
		full = append(full, c.among(found))
	}
	return Called{}, &NameError{fmt.Sprintf("%q is ambiguous", name), "write one of: " + strings.Join(full, ", ")}
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
	return list
}

// addresses are the ways to write the address of an object: pod.web["0"] and pod.web[0].
func addresses(kind, block, key string) []string {
	if key == "" {
		return []string{kind + "." + block}
	}
	return []string{fmt.Sprintf("%s.%s[%q]", kind, block, key), fmt.Sprintf("%s.%s[%s]", kind, block, key)}
}

func firstOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", len(list)-n))
}
