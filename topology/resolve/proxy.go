package resolve

import (
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

func (r *resolver) proxy() {
	s := &r.Spec.Proxy
	p := &r.Lab.Proxy
	p.Origin = s.Origin
	p.Mode = r.Catalogue.Proxies[r.pick(s.Mode, "proxy mode", r.Catalogue.ProxyNames(), r.Catalogue.PlannedProxies)]
	if r.Lab.Network.Mode.SharedCIDR && !s.Mode.Set { // it has no services
		p.Mode = topology.First(r.Catalogue.Proxies, func(m topology.ProxyMode) bool { return !m.Translates })
	}
	if p.Mode.Exec {
		p.Agent = &topology.Agent{Mode: p.Mode.Name}
		known := r.Catalogue.ProxiesThat(func(m topology.ProxyMode) bool { return !m.Exec })
		like := r.Enum(s.Agent.Like, "mode to be like", known[0], known, nil)
		p.Mode = topology.First(r.Catalogue.Proxies, func(m topology.ProxyMode) bool { return m.Name == like })
	}
	r.ipvs()
	p.MasqueradeAll = s.MasqueradeAll.Value
	p.DetectLocal = r.Enum(s.DetectLocal, "detect_local setting", topology.DetectClusterCIDR, []string{topology.DetectClusterCIDR, topology.DetectNone}, nil)
	r.localNodePorts(s.LocalNodePorts)
	for _, m := range r.Catalogue.Proxies {
		layouts := m.LayoutNames()
		if len(layouts) == 0 {
			continue
		}
		if layout := r.Enum(*s.Layout(m.Name), "rule layout", layouts[0], layouts, nil); m.Name == p.Mode.Name {
			p.Layout = layout
		}
	}
	p.NodePortMin = r.Number(s.NodePortMin, "first node port", 30000, 1, 65535)
	p.NodePortMax = r.Number(s.NodePortMax, "last node port", 32767, 1, 65535)
	if p.NodePortMin > p.NodePortMax {
		r.Errorf(draft.At(s.NodePortMin.Origin, s.NodePortMax.Origin, s.Origin), "Empty node port range",
			"node_port_range begins at %d, after its end %d. Write it like \"30000-32767\".", p.NodePortMin, p.NodePortMax)
		p.NodePortMax = p.NodePortMin
	}
	for _, a := range s.NodePortAddresses.Value {
		if !a.IsValid() {
			r.Errorf(draft.At(s.NodePortAddresses.Origin), "Invalid CIDR", "node_port_addresses contains no valid CIDR. Write it like \"192.168.0.0/24\".")
			continue
		}
		p.NodePortAddresses = append(p.NodePortAddresses, a.Masked())
	}
}

// localNodePorts checks that the mode can serve node ports on the loopback address if the lab
// asks for it.
func (r *resolver) localNodePorts(o topology.Opt[bool]) {
	p := &r.Lab.Proxy
	p.LocalNodePorts = o.Or(true)
	if !o.Set || !o.Value || !p.Mode.Translates || p.Mode.LoopbackNodePorts {
		return
	}
	if can := r.Catalogue.ProxiesThat(func(m topology.ProxyMode) bool { return m.LoopbackNodePorts }); len(can) > 0 {
		r.Errorf(draft.At(o.Origin), "No node ports on localhost",
			"Proxy mode %s serves no node ports on 127.0.0.1. Remove local_node_ports, or write mode = %q.", p.Mode.Name, can[0])
	}
}
