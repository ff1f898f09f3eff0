package language

import (
	"regexp"
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/topology"
)

func (l *loader) evalNetlab(opts Options) {
	b := l.single("netlab")
	if b == nil {
		return
	}
	c := read[netlabBody](l.reader, b, nil)
	if n := l.text(c.name, nil); n.Set {
		if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`).MatchString(n.Value) {
			l.errorf(rangeOf(n.Origin), "Invalid name", "The name of a lab is up to 63 of a-z, 0-9 and \"-\", and begins and ends with a letter or digit. Choose another one.")
		} else {
			l.spec.Name = n.Value
		}
	}
	l.spec.Description = l.text(c.description, nil)
	if v := l.text(c.requiredVersion, nil); v.Set {
		l.checkVersion(v, opts.Version)
	}
}

func (l *loader) evalNetwork() {
	b := l.single("network")
	if b == nil {
		return
	}
	c := &networkBody{catalogue: l.catalogue}
	l.readInto(c, b, b.scope)
	n := &l.spec.Network
	n.Origin = b.origin()
	n.Mode = l.text(c.mode, b.scope)
	n.PodCIDRs = l.prefixes(c.podCIDR, b.scope)
	n.ServiceCIDRs = l.prefixes(c.serviceCIDR, b.scope)
	n.NodeCIDRs = l.prefixes(c.nodeCIDR, b.scope)
	n.LoadBalancerCIDRs = l.prefixes(c.loadBalancerCIDR, b.scope)
	n.MasqueradeNodeTraffic = l.boolean(c.masqueradeNodeTraffic, b.scope)
	n.MTU = l.number(c.mtu, b.scope)
	l.nodePrefix(c.nodePrefix, b.scope)
	mode := n.Mode.Or(l.catalogue.Networks[0].Name)
	_, varied := l.varied.of("network")
	for _, m := range l.catalogue.Networks {
		o := l.option(c, m.Name)
		if o == nil {
			continue
		}
		if m.Name != mode && !varied {
			l.errorf(o.kindRange, "Options of another mode", "The mode is %q, so the %s block has no effect. Remove it, or set mode = %q.", mode, m.Name, m.Name)
		}
		oc := &networkModeBody{mode: m}
		l.readInto(oc, o, b.scope)
		if m.Tunnel == topology.VXLANTunnel {
			n.VXLAN = topology.VXLANSpec{
				VNI: l.number(oc.vni, b.scope), Port: l.number(oc.port, b.scope),
				DirectRouting: l.boolean(oc.directRouting, b.scope), Origin: o.origin(),
			}
		}
	}
	l.changed()
}

// nodePrefix reads one prefix length, or a list of one per family.
func (l *loader) nodePrefix(a *hcl.Attribute, sc scope) {
	v, ok := l.value(a, sc)
	if !ok {
		return
	}
	n := &l.spec.Network
	if !isList(v) {
		n.NodePrefix = l.number(a, sc)
		if ps := n.PodCIDRs.Value; len(ps) == 1 && ps[0].Addr().Is6() {
			n.NodePrefix6, n.NodePrefix = n.NodePrefix, topology.Opt[int]{}
		}
		return
	}
	for i, s := range l.strings(a, sc) {
		bits, err := strconv.Atoi(s)
		switch {
		case err != nil || i > 1:
			l.errorf(a.Expr.Range(), "Wrong type", "node_prefix must be a number or a list of two. Write node_prefix = [24, 64].")
			return
		case i == 0:
			n.NodePrefix = written(bits, a)
		default:
			n.NodePrefix6 = written(bits, a)
		}
	}
}

func (l *loader) evalProxy() {
	b := l.single("proxy")
	if b == nil {
		return
	}
	c := &proxyBody{catalogue: l.catalogue}
	l.readInto(c, b, b.scope)
	p := &l.spec.Proxy
	p.Origin = b.origin()
	p.Mode = l.text(c.mode, b.scope)
	p.MasqueradeAll = l.boolean(c.masqueradeAll, b.scope)
	p.DetectLocal = l.text(c.detectLocal, b.scope)
	p.NodePortAddresses = l.prefixes(c.nodePortAddresses, b.scope)
	p.LocalNodePorts = l.boolean(c.localNodePorts, b.scope)
	if r := l.text(c.nodePortRange, b.scope); r.Set {
		m := regexp.MustCompile(`^(\d{1,6})-(\d{1,6})$`).FindStringSubmatch(r.Value)
		if m == nil {
			l.errorf(rangeOf(r.Origin), "Invalid range", "node_port_range must be two numbers, not %q. Write node_port_range = \"30000-32767\".", r.Value)
		} else {
			lo, _ := strconv.Atoi(m[1])
			hi, _ := strconv.Atoi(m[2])
			p.NodePortMin = topology.Opt[int]{Value: lo, Set: true, Origin: r.Origin}
			p.NodePortMax = topology.Opt[int]{Value: hi, Set: true, Origin: r.Origin}
		}
	}
	for _, m := range l.catalogue.Proxies {
		o := l.option(c, m.Name)
		if o == nil {
			continue
		}
		oc := &proxyModeBody{mode: m}
		l.readInto(oc, o, b.scope)
		if m.Layouts {
			p.Layout = l.text(oc.layout, b.scope)
		}
		if m.VirtualServers {
			p.IPVS = topology.IPVSSpec{Scheduler: l.text(oc.scheduler, b.scope), StrictARP: l.boolean(oc.strictARP, b.scope),
				Addresses: l.text(oc.addresses, b.scope), Origin: o.origin()}
		}
	}
	l.changed()
}

func (l *loader) evalNodes() {
	for _, b := range l.blocksOf("node") {
		l.declareDynamic(b)
		c := read[nodeBody](l.reader, b, b.scope)
		l.spec.Nodes = append(l.spec.Nodes, topology.NodeSpec{
			Name: b.label, Origin: b.origin(), Labels: l.labels(c.labels, b.scope),
			Zone: l.text(c.zone, b.scope), Address: l.address(c.address, b.scope), Link: l.link(c, b.scope),
		})
		i := len(l.spec.Nodes) - 1
		l.late = append(l.late, func() { l.spec.Nodes[i].Routes = l.routes(c.routes, b.scope) })
	}
	l.changed()
}

func (l *loader) evalClients() {
	for _, b := range l.blocksOf("client") {
		l.declareDynamic(b)
		c := read[clientBody](l.reader, b, b.scope)
		l.spec.Clients = append(l.spec.Clients, topology.ClientSpec{
			Name: b.label, Origin: b.origin(), Address: l.address(c.address, b.scope), Ports: l.ports(c, b.scope), Link: l.link(c, b.scope),
		})
		i := len(l.spec.Clients) - 1
		l.late = append(l.late, func() {
			l.spec.Clients[i].Gateway = l.address(c.gateway, b.scope)
			l.spec.Clients[i].Routes = l.routes(c.routes, b.scope)
		})
	}
	l.changed()
}

func (l *loader) evalNamespaces() {
	for _, b := range l.blocksOf("namespace") {
		l.declareDynamic(b)
		c := read[namespaceBody](l.reader, b, b.scope)
		l.spec.Namespaces = append(l.spec.Namespaces, topology.NamespaceSpec{
			Name: b.label, Origin: b.origin(), Labels: l.labels(c.labels, b.scope)})
	}
	if l.declared["namespace"] == nil {
		l.declared["namespace"] = map[string]hcl.Range{}
	}
	if _, ok := l.declared["namespace"][topology.DefaultNamespace]; !ok {
		l.declared["namespace"][topology.DefaultNamespace] = hcl.Range{}
	}
	l.changed()
}

// ports reads the port blocks of a pod or client.
func (l *loader) ports(c shape, sc scope) []topology.PortSpec {
	var out []topology.PortSpec
	for _, b := range c.body().named("port") {
		pc := read[portBody](l.reader, b, sc)
		out = append(out, topology.PortSpec{
			Name: b.label, Origin: b.origin(), Port: l.number(pc.port, sc), Protocol: l.text(pc.protocol, sc)})
	}
	return out
}
