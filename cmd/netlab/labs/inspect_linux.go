package labs

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/scenarios/language/names"
)

func inspectCommand(u ui) *cobra.Command {
	c := &cobra.Command{
		Use:               "inspect [LAB or FILE]",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeLabs,
		RunE: func(c *cobra.Command, args []string) error {
			lab, info, err := Connect(c.Context(), args)
			if err != nil {
				return err
			}
			inv, err := inventoryIn(info)
			if err != nil {
				return err
			}
			have, _, err := lab.Read(c.Context())
			if err != nil {
				return command.Broken(err, "remove it: netlab down "+info.Name)
			}
			v := view{Name: info.Name, File: info.File, State: info.State, inventory: inv, Interfaces: interfaces(have), Routes: routes(have), Draining: info.Draining, Programs: info.Programs, Sessions: info.Sessions, Checks: info.Checks}
			if u.AsJSON {
				return u.JSON(v)
			}
			err = u.inspect(v)
			u.inspectSessions(v.Sessions)
			u.printPrograms(v.Programs, func(inside.Program) bool { return true })
			u.printDraining(v.Draining)
			u.printChecks(v.Checks)
			return err
		},
	}
	u.JSONFlag(c, "the lab")
	return c
}

// view is all that inspect shows.
type view struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	State string `json:"state"`
	inventory
	Interfaces map[string][]interfaceRecord `json:"interfaces"`       // by network namespace
	Routes     []httproute.Route            `json:"routes,omitempty"` // of ingress controllers
	Programs   []inside.Program             `json:"programs,omitempty"`
	Sessions   []inside.Session             `json:"sessions,omitempty"` // BGP
	Draining   []engine.Draining            `json:"draining,omitempty"` // real servers that still have connections
	Checks     []inside.Checked             `json:"checks,omitempty"`   // of load balancers
}

// interfaceRecord is one interface as the kernel has it now.
type interfaceRecord struct {
	Name   string         `json:"name"`
	Type   string         `json:"type"`
	MTU    int            `json:"mtu"`
	MAC    string         `json:"mac"`
	Master string         `json:"master,omitempty"`
	Peer   string         `json:"peer,omitempty"`
	Addrs  []netip.Prefix `json:"addresses,omitempty"`
}

func interfaces(p *plan.Plan) map[string][]interfaceRecord {
	all := map[string][]interfaceRecord{}
	for _, n := range p.Netns {
		for _, l := range n.Links {
			r := interfaceRecord{Name: l.Name, Type: string(l.Type), MTU: l.MTU, Master: l.Master,
				MAC: net.HardwareAddr(l.MAC[:]).String()}
			if l.UserSpace {
				r.Type += " in user space"
			}
			if l.Peer.Netns != "" {
				r.Peer = l.Peer.Netns + "/" + l.Peer.Link
			}
			for _, a := range n.Addrs {
				if a.Link == l.Name {
					r.Addrs = append(r.Addrs, a.Prefix)
				}
			}
			all[n.Name] = append(all[n.Name], r)
		}
	}
	return all
}

func (u ui) inspect(v view) error {
	u.Print("%s  %s  %s\n", v.Name, v.State, relative(v.File))
	if len(v.Underlay) > 0 {
		u.Print("\n%s", command.Draw(v.Underlay))
	}
	w := tabwriter.NewWriter(u.Text(), 0, 0, 2, ' ', 0)
	for _, kind := range []string{"node", "router", "client", "pod"} {
		u.inspectPlaces(w, v, kind)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(v.Services) > 0 {
		u.Print("\nservices\n")
	}
	for _, s := range v.Services {
		inspectService(w, s)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(v.Routes) > 0 {
		u.Print("\ningress at %s\n", cmp.Or(joinAddrs(v.Ingress), "no address"))
	}
	for i := range v.Routes {
		inspectRoute(w, &v.Routes[i])
	}
	return w.Flush()
}

// routes are those that ingress controllers have now, each once.
func routes(p *plan.Plan) (list []httproute.Route) {
	seen := map[string]bool{}
	for _, n := range p.Netns {
		for _, r := range n.Routing {
			if words := r.Words(); !seen[words] {
				seen[words] = true
				list = append(list, r)
			}
		}
	}
	return list
}

func inspectRoute(w *tabwriter.Writer, r *httproute.Route) {
	of := r.Object
	if r.TLS && r.Only == "" {
		of += ", also with TLS"
	}
	fmt.Fprintf(w, "  %s\t%s\n", r.Where(), of)
	if filters := r.Filters.Words(); filters != "" {
		fmt.Fprintf(w, "    filters\t%s\n", filters)
	}
	for _, b := range r.Backends {
		what := command.Plural(len(b.Endpoints), "endpoint")
		if b.Refused {
			what = "of another namespace, and not granted"
		}
		if len(r.Backends) > 1 {
			what += fmt.Sprintf(", weight %d", b.Weight)
		}
		fmt.Fprintf(w, "    %s\t%s\n", b.Service, what)
		for _, e := range b.Endpoints {
			fmt.Fprintf(w, "      \t%s\n", e)
		}
	}
}

func (u ui) inspectPlaces(w *tabwriter.Writer, v view, kind string) {
	first := true
	for _, p := range v.Places {
		if p.Kind != kind {
			continue
		}
		if first {
			fmt.Fprintf(w, "\n%ss\n", kind)
			first = false
		}
		extra := strings.Join(p.Ports, " ")
		if p.Node != "" {
			extra = "on " + p.Node + "  " + extra
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", p.Display(), joinAddrs(p.Addrs), extra)
		if kind == "pod" && v.isNode(p.Netns) {
			continue // it has the node's interfaces
		}
		for _, i := range v.Interfaces[p.Netns] {
			if kind == "node" && i.Peer != "" && i.Master != "" {
				continue // ports of pods: the pods show the other end
			}
			fmt.Fprintf(w, "    %s\t%s\t%s mtu %d %s\n", i.Name, someAddrs(i.Addrs), i.Type, i.MTU, i.MAC)
		}
	}
}

func inspectService(w *tabwriter.Writer, s serviceRecord) {
	name := s.Name
	if s.Namespace != "default" {
		name = s.Namespace + "/" + name
	}
	policy := "internal policy " + s.Internal
	if s.External != "" {
		policy = "external policy " + s.External + ", " + policy
	}
	fmt.Fprintf(w, "  %s\t%s\t%s, %s\n", name, joinAddrs(s.ClusterIP), s.Type, policy)
	for _, more := range []struct {
		what string
		ips  []netip.Addr
	}{{"load balancer", s.LoadBalancer}, {"external IPs", s.ExternalIPs}} {
		if len(more.ips) > 0 {
			fmt.Fprintf(w, "    \t%s\t%s\n", joinAddrs(more.ips), more.what)
		}
	}
	for _, p := range s.Ports {
		port := fmt.Sprintf("%s/%d", p.Protocol, p.Port)
		if p.NodePort != 0 {
			port += fmt.Sprintf(", node port %d", p.NodePort)
		}
		fmt.Fprintf(w, "    %s\t%s\t%s\n", p.Name, port, command.Plural(len(p.Endpoints), "endpoint"))
		for _, e := range p.Endpoints {
			fmt.Fprintf(w, "      %s\t%s\ton %s, %s\n", e.Pod, e.Addr, e.Node, e.State)
		}
	}
}

// isNode reports whether a network namespace is a node's.
func (v *view) isNode(netns string) bool {
	return slices.ContainsFunc(v.Places, func(p names.Called) bool { return p.Kind == "node" && p.Netns == netns })
}

// maxAddrs is how many addresses of an interface fit on a line. kube-ipvs0 has one
// for each address of a service.
const maxAddrs = 3

func someAddrs(list []netip.Prefix) string {
	if len(list) <= maxAddrs {
		return joinAddrs(list)
	}
	return fmt.Sprintf("%s and %d more", joinAddrs(list[:maxAddrs-1]), len(list)-maxAddrs+1)
}

func joinAddrs[A fmt.Stringer](list []A) string {
	var words []string
	for _, a := range list {
		words = append(words, a.String())
	}
	return strings.Join(words, ", ")
}
