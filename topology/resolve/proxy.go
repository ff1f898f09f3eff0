package resolve

import "github.com/netlab/netlab/topology"

func (r *resolver) proxy() {
	s := &r.spec.Proxy
	p := &r.lab.Proxy
	p.Origin = s.Origin
	p.Mode = r.catalogue.Proxies[r.pick(s.Mode, "proxy mode", r.catalogue.ProxyNames(), r.catalogue.PlannedProxies)]
	r.ipvs()
	p.MasqueradeAll = s.MasqueradeAll.Value
	p.DetectLocal = r.enum(s.DetectLocal, "detect_local setting", topology.DetectClusterCIDR, []string{topology.DetectClusterCIDR, topology.DetectNone}, nil)
	p.LocalNodePorts = s.LocalNodePorts.Or(true)
	p.Layout = r.enum(s.Layout, "rule layout", topology.LayoutCurrent, []string{topology.LayoutCurrent, topology.LayoutLegacy}, nil)
	p.NodePortMin = r.number(s.NodePortMin, "first node port", 30000, 1, 65535)
	p.NodePortMax = r.number(s.NodePortMax, "last node port", 32767, 1, 65535)
	if p.NodePortMin > p.NodePortMax {
		r.errorf(at(s.NodePortMin.Origin, s.NodePortMax.Origin, s.Origin), "Empty node port range",
			"node_port_range begins at %d, after its end %d. Write it like \"30000-32767\".", p.NodePortMin, p.NodePortMax)
		p.NodePortMax = p.NodePortMin
	}
	for _, a := range s.NodePortAddresses.Value {
		if !a.IsValid() {
			r.errorf(at(s.NodePortAddresses.Origin), "Invalid CIDR", "node_port_addresses contains no valid CIDR. Write it like \"192.168.0.0/24\".")
			continue
		}
		p.NodePortAddresses = append(p.NodePortAddresses, a.Masked())
	}
}
