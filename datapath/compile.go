package datapath

import (
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// Compile returns the plan of a lab. It depends on nothing else: equal labs have equal
// plans. An unknown mode or backend is an error; Resolve rejects them earlier.
func Compile(lab *topology.Lab) (*plan.Plan, error) {
	mode, err := modeNamed(lab.Network.Mode.Name)
	if err != nil {
		return nil, err
	}
	p, err := mode.Compile(lab)
	if err != nil {
		return nil, fmt.Errorf("network mode %q: %w", mode.Name(), err)
	}
	netns := make(map[string]*plan.Netns, len(p.Netns))
	for i := range p.Netns {
		netns[p.Netns[i].Name] = &p.Netns[i]
	}
	trustAddresses(p)
	addLinks(lab, netns)
	addAgents(lab, netns)
	addExternalRoutes(lab, netns)
	if err := addServices(lab, netns); err != nil {
		return nil, err
	}
	if err := addPolicies(lab, netns); err != nil {
		return nil, err
	}
	p.Sort()
	return p, nil
}

func modeNamed(name string) (podnet.Mode, error) {
	for _, m := range Modes() {
		if m.Name() == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("network mode %q: unknown", name)
}

func backendNamed(name string) (service.Backend, error) {
	for _, b := range Backends() {
		if b.Name() == name {
			return b, nil
		}
	}
	return nil, fmt.Errorf("proxy mode %q: unknown", name)
}

// addServices adds to every node what the backend compiles for the services.
func addServices(lab *topology.Lab, netns map[string]*plan.Netns) error {
	if !lab.Proxy.Mode.Translates {
		return nil
	}
	backend, err := backendNamed(lab.Proxy.Mode.Name)
	if err != nil {
		return err
	}
	for _, node := range lab.Nodes {
		n := netns[node.Netns()]
		view := service.NewView(lab, node, addrsOf(n))
		rules, err := backend.Compile(view)
		if err != nil {
			return fmt.Errorf("proxy mode %q: node %q: %w", backend.Name(), node.Name, err)
		}
		merge(n, &rules)
		n.Agents = append(n.Agents, service.HealthChecks(view)...)
		n.UDP = service.UDPServices(view)
	}
	return nil
}

// addrsOf returns all addresses of a namespace.
func addrsOf(n *plan.Netns) []netip.Addr {
	addrs := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	for _, a := range n.Addrs {
		addrs = append(addrs, a.Prefix.Addr())
	}
	return addrs
}
