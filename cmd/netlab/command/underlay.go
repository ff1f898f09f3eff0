package command

import (
	"fmt"
	"net/netip"
	"strings"
	"text/tabwriter"

	"github.com/netlab/netlab/topology"
)

// Subnet is a subnet of the underlay with what is on it.
type Subnet struct {
	Name  string         `json:"name"`
	CIDRs []netip.Prefix `json:"cidrs"`
	MTU   int            `json:"mtu"`
	Hosts []Plugged      `json:"hosts"`
}

// Plugged is a host, or a link of a router, that is on a subnet.
type Plugged struct {
	Kind  string       `json:"kind"` // node, client or router
	Name  string       `json:"name"`
	Addrs []netip.Addr `json:"addresses"`
	Link  string       `json:"link,omitempty"` // of a router
	To    []string     `json:"to,omitempty"`   // the other subnets of a router
	MTU   int          `json:"mtu,omitempty"`  // if it is smaller than the subnet's
}

// Underlay is what is on each subnet of a lab; nothing where there is only the default one.
func Underlay(lab *topology.Lab) []Subnet {
	if len(lab.Subnets) < 2 {
		return nil
	}
	out := make([]Subnet, 0, len(lab.Subnets))
	for _, s := range lab.Subnets {
		view := Subnet{Name: s.Name, CIDRs: s.CIDRs, MTU: s.MTU}
		for _, r := range lab.Routers {
			l := r.LinkTo(s)
			if l == nil {
				continue
			}
			var to []string
			for _, other := range r.Subnets() {
				if other != s {
					to = append(to, other.Name)
				}
			}
			view.Hosts = append(view.Hosts, Plugged{Kind: "router", Name: r.Name, Addrs: l.Addrs, Link: l.Name, To: to, MTU: l.Link.MTU})
		}
		for _, n := range lab.Nodes {
			if n.Subnet == s {
				view.Hosts = append(view.Hosts, Plugged{Kind: "node", Name: n.Name, Addrs: n.Addrs, MTU: n.Link.MTU})
			}
		}
		for _, c := range lab.Clients {
			if c.Subnet == s {
				view.Hosts = append(view.Hosts, Plugged{Kind: "client", Name: c.Name, Addrs: c.Addrs, MTU: c.Link.MTU})
			}
		}
		out = append(out, view)
	}
	return out
}

// maxDrawn is how many hosts of a subnet are drawn.
const maxDrawn = 20

// Draw draws the underlay as a tree.
func Draw(subnets []Subnet) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "underlay")
	for i, s := range subnets {
		branch, stem := "├── ", "│   "
		if i == len(subnets)-1 {
			branch, stem = "└── ", "    "
		}
		fmt.Fprintf(w, "%ssubnet %s\t%s\tmtu %d\n", branch, s.Name, list(s.CIDRs), s.MTU)
		for k, h := range s.Hosts {
			twig := "├── "
			if k == len(s.Hosts)-1 || k == maxDrawn {
				twig = "└── "
			}
			if k == maxDrawn {
				fmt.Fprintf(w, "%s%sand %d more\n", stem, twig, len(s.Hosts)-k)
				break
			}
			fmt.Fprintf(w, "%s%s%s %s\t%s\t%s\n", stem, twig, h.Kind, h.Name, list(h.Addrs), h.more())
		}
	}
	w.Flush() // to memory
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

// more is what there is to say besides name and address.
func (h Plugged) more() string {
	var parts []string
	if h.Link != "" {
		parts = append(parts, "link "+h.Link+" to "+strings.Join(h.To, ", "))
	}
	if h.MTU != 0 {
		parts = append(parts, fmt.Sprintf("mtu %d", h.MTU))
	}
	return strings.Join(parts, ", ")
}

func list[T fmt.Stringer](all []T) string {
	var words []string
	for _, x := range all {
		words = append(words, x.String())
	}
	return strings.Join(words, ", ")
}
