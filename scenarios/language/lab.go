package language

import (
	"regexp"
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

func (l *loader) evalNetlab(opts Options) {
	b := l.Single("netlab")
	if b == nil {
		return
	}
	c := blocks.Read[netlabBody](l.Reader, b, nil)
	if n := l.Text(c.name, nil); n.Set {
		if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`).MatchString(n.Value) {
			l.Errorf(source.RangeOf(n.Origin), "Invalid name", "The name of a lab is up to 63 of a-z, 0-9 and \"-\", and begins and ends with a letter or digit. Choose another one.")
		} else {
			l.spec.Name = n.Value
		}
	}
	l.spec.Description = l.Text(c.description, nil)
	if v := l.Text(c.requiredVersion, nil); v.Set {
		l.checkVersion(v, opts.Version)
	}
}

func (l *loader) evalNetwork() {
	b := l.Single("network")
	if b == nil {
		return
	}
	c := &networkBody{catalogue: l.catalogue}
	l.ReadInto(c, b, b.Scope)
	n := &l.spec.Network
	n.Origin = b.Origin()
	n.Mode = l.Text(c.mode, b.Scope)
	n.PodCIDRs = l.Prefixes(c.podCIDR, b.Scope)
	n.ServiceCIDRs = l.Prefixes(c.serviceCIDR, b.Scope)
	n.NodeCIDRs = l.Prefixes(c.nodeCIDR, b.Scope)
	n.LoadBalancerCIDRs = l.Prefixes(c.loadBalancerCIDR, b.Scope)
	n.MasqueradeNodeTraffic = l.Boolean(c.masqueradeNodeTraffic, b.Scope)
	n.MTU = l.Number(c.mtu, b.Scope)
	l.nodePrefix(c.nodePrefix, b.Scope)
	mode := n.Mode.Or(l.catalogue.Networks[0].Name)
	_, varied := l.varied.of("network")
	for _, m := range l.catalogue.Networks {
		o := l.Option(c, m.Name)
		if o == nil {
			continue
		}
		if m.Name != mode && !varied {
			l.Errorf(o.KindRange, "Options of another mode", "The mode is %q, so the %s block has no effect. Remove it, or set mode = %q.", mode, m.Name, m.Name)
		}
		oc := &networkModeBody{mode: m}
		l.ReadInto(oc, o, b.Scope)
		if m.Tunnel == topology.VXLANTunnel {
			n.VXLAN = topology.VXLANSpec{
				VNI: l.Number(oc.vni, b.Scope), Port: l.Number(oc.port, b.Scope),
				DirectRouting: l.Boolean(oc.directRouting, b.Scope), Origin: o.Origin(),
			}
		}
	}
	l.changed()
}

// nodePrefix reads one prefix length, or a list of one per family.
func (l *loader) nodePrefix(a *hcl.Attribute, sc blocks.Scope) {
	v, ok := l.Value(a, sc)
	if !ok {
		return
	}
	n := &l.spec.Network
	if !blocks.IsList(v) {
		n.NodePrefix = l.Number(a, sc)
		if ps := n.PodCIDRs.Value; len(ps) == 1 && ps[0].Addr().Is6() {
			n.NodePrefix6, n.NodePrefix = n.NodePrefix, topology.Opt[int]{}
		}
		return
	}
	for i, s := range l.Strings(a, sc) {
		bits, err := strconv.Atoi(s)
		switch {
		case err != nil || i > 1:
			l.Errorf(a.Expr.Range(), "Wrong type", "node_prefix must be a number or a list of two. Write node_prefix = [24, 64].")
			return
		case i == 0:
			n.NodePrefix = blocks.Written(bits, a)
		default:
			n.NodePrefix6 = blocks.Written(bits, a)
		}
	}
}

func (l *loader) evalProxy() {
	b := l.Single("proxy")
	if b == nil {
		return
	}
	c := &proxyBody{catalogue: l.catalogue}
	l.ReadInto(c, b, b.Scope)
	p := &l.spec.Proxy
	p.Origin = b.Origin()
	p.Mode = l.Text(c.mode, b.Scope)
	p.MasqueradeAll = l.Boolean(c.masqueradeAll, b.Scope)
	p.DetectLocal = l.Text(c.detectLocal, b.Scope)
	p.NodePortAddresses = l.Prefixes(c.nodePortAddresses, b.Scope)
	p.LocalNodePorts = l.Boolean(c.localNodePorts, b.Scope)
	if r := l.Text(c.nodePortRange, b.Scope); r.Set {
		m := regexp.MustCompile(`^(\d{1,6})-(\d{1,6})$`).FindStringSubmatch(r.Value)
		if m == nil {
			l.Errorf(source.RangeOf(r.Origin), "Invalid range", "node_port_range must be two numbers, not %q. Write node_port_range = \"30000-32767\".", r.Value)
		} else {
			lo, _ := strconv.Atoi(m[1])
			hi, _ := strconv.Atoi(m[2])
			p.NodePortMin = topology.Opt[int]{Value: lo, Set: true, Origin: r.Origin}
			p.NodePortMax = topology.Opt[int]{Value: hi, Set: true, Origin: r.Origin}
		}
	}
	for _, m := range l.catalogue.Proxies {
		o := l.Option(c, m.Name)
		if o == nil {
			continue
		}
		oc := &proxyModeBody{mode: m}
		l.ReadInto(oc, o, b.Scope)
		if m.Layouts {
			p.Layout = l.Text(oc.layout, b.Scope)
		}
		if m.VirtualServers {
			p.IPVS = topology.IPVSSpec{Scheduler: l.Text(oc.scheduler, b.Scope), StrictARP: l.Boolean(oc.strictARP, b.Scope),
				Addresses: l.Text(oc.addresses, b.Scope), Origin: o.Origin()}
		}
	}
	l.changed()
}

func (l *loader) evalNodes() {
	for _, b := range l.BlocksOf("node") {
		l.DeclareDynamic(b)
		c := blocks.Read[nodeBody](l.Reader, b, b.Scope)
		l.spec.Nodes = append(l.spec.Nodes, topology.NodeSpec{
			Name: b.Label, Origin: b.Origin(), Labels: l.Labels(c.labels, b.Scope),
			Zone: l.Text(c.zone, b.Scope), Address: l.Address(c.address, b.Scope), Link: l.link(c, b.Scope),
		})
		i := len(l.spec.Nodes) - 1
		l.late = append(l.late, func() { l.spec.Nodes[i].Routes = l.Routes(c.routes, b.Scope) })
	}
	l.changed()
}

func (l *loader) evalClients() {
	for _, b := range l.BlocksOf("client") {
		l.DeclareDynamic(b)
		c := blocks.Read[clientBody](l.Reader, b, b.Scope)
		l.spec.Clients = append(l.spec.Clients, topology.ClientSpec{
			Name: b.Label, Origin: b.Origin(), Address: l.Address(c.address, b.Scope), Ports: l.ports(c, b.Scope), Link: l.link(c, b.Scope),
		})
		i := len(l.spec.Clients) - 1
		l.late = append(l.late, func() {
			l.spec.Clients[i].Gateway = l.Address(c.gateway, b.Scope)
			l.spec.Clients[i].Routes = l.Routes(c.routes, b.Scope)
		})
	}
	l.changed()
}

func (l *loader) evalNamespaces() {
	for _, b := range l.BlocksOf("namespace") {
		l.DeclareDynamic(b)
		c := blocks.Read[namespaceBody](l.Reader, b, b.Scope)
		l.spec.Namespaces = append(l.spec.Namespaces, topology.NamespaceSpec{
			Name: b.Label, Origin: b.Origin(), Labels: l.Labels(c.labels, b.Scope)})
	}
	if l.Declared["namespace"] == nil {
		l.Declared["namespace"] = map[string]hcl.Range{}
	}
	if _, ok := l.Declared["namespace"][topology.DefaultNamespace]; !ok {
		l.Declared["namespace"][topology.DefaultNamespace] = hcl.Range{}
	}
	l.changed()
}

// ports reads the port blocks of a pod or client.
func (l *loader) ports(c blocks.Shape, sc blocks.Scope) []topology.PortSpec {
	var out []topology.PortSpec
	for _, b := range c.Body().Named("port") {
		pc := blocks.Read[portBody](l.Reader, b, sc)
		out = append(out, topology.PortSpec{
			Name: b.Label, Origin: b.Origin(), Port: l.Number(pc.port, sc), Protocol: l.Text(pc.protocol, sc)})
	}
	return out
}
