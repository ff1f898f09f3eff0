package datapath

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/fault"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// Compile returns the plan of a lab. It depends on nothing else: equal labs have equal
// plans. An unknown mode or backend is an error; Resolve rejects them earlier.
func Compile(lab *topology.Lab) (*plan.Plan, error) {
	mode, err := named("network mode", lab.Network.Mode.Name, Modes(), func(m podnet.Mode) string { return m.Name })
	if err != nil {
		return nil, err
	}
	p := mode.Compile(lab)
	netns := make(map[string]*plan.Netns, len(p.Netns))
	for i := range p.Netns {
		netns[p.Netns[i].Name] = &p.Netns[i]
	}
	trustAddresses(p)
	addLinks(lab, netns)
	addAgents(lab, netns)
	addNodeAgents(lab, netns)
	addExternalRoutes(lab, netns)
	addBalancers(lab, netns)
	virtual, err := addServices(lab, netns)
	if err != nil {
		return nil, err
	}
	addNodeLocalDNS(lab, netns)
	if err := addPolicies(lab, netns, virtual); err != nil {
		return nil, err
	}
	p.Sort()
	return p, agentsNeed(lab, p)
}

// OnPaper returns the plan to predict packets from: that of Compile, but with the rules that
// agents are measured by in the place of agents. The error is that of Compile.
func OnPaper(lab *topology.Lab, built *plan.Plan) (*plan.Plan, error) {
	if !lab.HasAgents() {
		return built, nil
	}
	return Compile(lab.WithoutAgents())
}

// Stageable says for each fault of a lab why it cannot be staged; nil: it can.
func Stageable(lab *topology.Lab, faults []*topology.Fault) []error {
	out := make([]error, len(faults))
	p, err := Compile(lab)
	for i, f := range faults {
		if out[i] = err; err == nil {
			_, out[i] = fault.Apply(lab, p, f)
		}
	}
	return out
}

// named finds a mode, backend or style by its name.
func named[T any](kind, name string, list []T, nameOf func(T) string) (out T, err error) {
	i := slices.IndexFunc(list, func(x T) bool { return nameOf(x) == name })
	if i < 0 {
		return out, fmt.Errorf("%s %q: unknown", kind, name)
	}
	return list[i], nil
}

// addServices adds to every node what the backend compiles for the services, unless an agent does
// their work. It returns the virtual servers of each node, which are there either way.
func addServices(lab *topology.Lab, netns map[string]*plan.Netns) (map[string][]ipvs.Server, error) {
	mode := lab.Proxy.Mode
	if !mode.Translates || lab.Proxy.Agent != nil && !mode.VirtualServers {
		return nil, nil
	}
	backend, err := named("proxy mode", mode.Name, Backends(), func(b service.Backend) string { return b.Name })
	if err != nil {
		return nil, err
	}
	virtual := map[string][]ipvs.Server{}
	for _, node := range lab.Nodes {
		n := netns[node.Netns()]
		view := service.NewView(lab, node, addrsOf(n))
		rules := backend.Rules(view)
		virtual[n.Name] = rules.Virtual
		if lab.Proxy.Agent != nil {
			continue
		}
		merge(n, &rules)
		if !backend.UserSpace {
			n.Agents = append(n.Agents, service.HealthChecks(view)...)
			n.UDP = append(n.UDP, service.UDPServices(view)...)
		}
	}
	return virtual, nil
}

// addrsOf returns all addresses of a namespace.
func addrsOf(n *plan.Netns) []netip.Addr {
	addrs := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	for _, a := range n.Addrs {
		addrs = append(addrs, a.Prefix.Addr())
	}
	return addrs
}
