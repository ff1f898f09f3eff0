package scenarios

import (
	"regexp"
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/topology"
)

// single returns the only block of a kind that may be written once.
func (l *loader) single(kind string) *block {
	blocks := l.blocksOf(kind)
	if len(blocks) == 0 {
		return nil
	}
	for _, b := range blocks[1:] {
		l.errorf(b.kindRange, "Duplicate "+kind+" block", "A scenario has one %s block, and the first is %s. Merge them.", kind, seenFrom(blocks[0].kindRange, b.kindRange))
	}
	return blocks[0]
}

// option returns the only block of a kind inside another block.
func (l *loader) option(c *content, kind string) *block {
	blocks := c.named(kind)
	if len(blocks) == 0 {
		return nil
	}
	for _, b := range blocks[1:] {
		l.errorf(b.kindRange, "Duplicate "+kind+" block", "There may be one %s block, and the first is %s. Merge them.", kind, seenFrom(blocks[0].kindRange, b.kindRange))
	}
	return blocks[0]
}

func (l *loader) evalNetlab(opts Options) {
	b := l.single("netlab")
	if b == nil {
		return
	}
	c := l.read(b, netlabSchema(), nil)
	if n := l.text(c.attrs["name"], nil); n.Set {
		if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`).MatchString(n.Value) {
			l.errorf(rangeOf(n.Origin), "Invalid name", "The name of a lab is up to 63 of a-z, 0-9 and \"-\", and begins and ends with a letter or digit. Choose another one.")
		} else {
			l.spec.Name = n.Value
		}
	}
	l.spec.Description = l.text(c.attrs["description"], nil)
	if v := l.text(c.attrs["required_version"], nil); v.Set {
		l.checkVersion(v, opts.Version)
	}
}

func (l *loader) evalNetwork() {
	b := l.single("network")
	if b == nil {
		return
	}
	c := l.read(b, networkSchema(), b.scope)
	n := &l.spec.Network
	n.Origin = b.origin()
	n.Mode = l.text(c.attrs["mode"], b.scope)
	n.PodCIDRs = l.prefixes(c.attrs["pod_cidr"], b.scope)
	n.ServiceCIDRs = l.prefixes(c.attrs["service_cidr"], b.scope)
	n.NodeCIDRs = l.prefixes(c.attrs["node_cidr"], b.scope)
	n.LoadBalancerCIDRs = l.prefixes(c.attrs["load_balancer_cidr"], b.scope)
	n.MasqueradeNodeTraffic = l.boolean(c.attrs["masquerade_node_traffic"], b.scope)
	n.MTU = l.number(c.attrs["mtu"], b.scope)
	l.nodePrefix(c.attrs["node_prefix"], b.scope)
	mode := n.Mode.Or("vxlan")
	for _, kind := range []string{"vxlan", "host-gw"} {
		if _, varied := l.varied.of("network"); varied {
			break
		}
		if o := l.option(c, kind); o != nil && kind != mode {
			l.errorf(o.kindRange, "Options of another mode", "The mode is %q, so the %s block has no effect. Remove it, or set mode = %q.", mode, kind, kind)
		}
	}
	if o := l.option(c, "vxlan"); o != nil {
		oc := l.read(o, vxlanSchema(), b.scope)
		n.VXLAN = topology.VXLANSpec{
			VNI: l.number(oc.attrs["vni"], b.scope), Port: l.number(oc.attrs["port"], b.scope),
			DirectRouting: l.boolean(oc.attrs["direct_routing"], b.scope), Origin: o.origin(),
		}
	}
	if o := l.option(c, "host-gw"); o != nil {
		l.read(o, hostGatewaySchema(), b.scope)
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
	c := l.read(b, proxySchema(), b.scope)
	p := &l.spec.Proxy
	p.Origin = b.origin()
	p.Mode = l.text(c.attrs["mode"], b.scope)
	p.MasqueradeAll = l.boolean(c.attrs["masquerade_all"], b.scope)
	p.DetectLocal = l.text(c.attrs["detect_local"], b.scope)
	p.NodePortAddresses = l.prefixes(c.attrs["node_port_addresses"], b.scope)
	p.LocalNodePorts = l.boolean(c.attrs["local_node_ports"], b.scope)
	if r := l.text(c.attrs["node_port_range"], b.scope); r.Set {
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
	if o := l.option(c, "iptables"); o != nil {
		oc := l.read(o, iptablesSchema(), b.scope)
		p.Layout = l.text(oc.attrs["layout"], b.scope)
	}
	if o := l.option(c, "ipvs"); o != nil {
		oc := l.read(o, ipvsSchema(), b.scope)
		p.IPVS = topology.IPVSSpec{Scheduler: l.text(oc.attrs["scheduler"], b.scope), StrictARP: l.boolean(oc.attrs["strict_arp"], b.scope),
			Addresses: l.text(oc.attrs["addresses"], b.scope), Origin: o.origin()}
	}
	l.changed()
}

func (l *loader) evalNodes() {
	for _, b := range l.blocksOf("node") {
		l.declareDynamic(b)
		c := l.read(b, nodeSchema(), b.scope)
		l.spec.Nodes = append(l.spec.Nodes, topology.NodeSpec{
			Name: b.label, Origin: b.origin(), Labels: l.labels(c.attrs["labels"], b.scope),
			Zone: l.text(c.attrs["zone"], b.scope), Address: l.address(c.attrs["address"], b.scope), Link: l.link(c, b.scope),
		})
		i := len(l.spec.Nodes) - 1
		l.late = append(l.late, func() { l.spec.Nodes[i].Routes = l.routes(c.attrs["routes"], b.scope) })
	}
	l.changed()
}

func (l *loader) evalClients() {
	for _, b := range l.blocksOf("client") {
		l.declareDynamic(b)
		c := l.read(b, clientSchema(), b.scope)
		l.spec.Clients = append(l.spec.Clients, topology.ClientSpec{
			Name: b.label, Origin: b.origin(), Address: l.address(c.attrs["address"], b.scope), Ports: l.ports(c, b.scope), Link: l.link(c, b.scope),
		})
		i := len(l.spec.Clients) - 1
		l.late = append(l.late, func() {
			l.spec.Clients[i].Gateway = l.address(c.attrs["gateway"], b.scope)
			l.spec.Clients[i].Routes = l.routes(c.attrs["routes"], b.scope)
		})
	}
	l.changed()
}

func (l *loader) evalNamespaces() {
	for _, b := range l.blocksOf("namespace") {
		l.declareDynamic(b)
		c := l.read(b, namespaceSchema(), b.scope)
		l.spec.Namespaces = append(l.spec.Namespaces, topology.NamespaceSpec{
			Name: b.label, Origin: b.origin(), Labels: l.labels(c.attrs["labels"], b.scope)})
	}
	if l.declared["namespace"] == nil {
		l.declared["namespace"] = map[string]hcl.Range{}
	}
	if _, ok := l.declared["namespace"][topology.DefaultNamespace]; !ok {
		l.declared["namespace"][topology.DefaultNamespace] = hcl.Range{}
	}
	l.changed()
}

// declareDynamic notes the name of a block that a dynamic block made.
func (l *loader) declareDynamic(b *block) {
	if b.scope != nil {
		l.declare(b.kind, b.label, b.labelRange)
	}
}

// ports reads the port blocks of a pod or client.
func (l *loader) ports(c *content, sc scope) []topology.PortSpec {
	var out []topology.PortSpec
	for _, b := range c.named("port") {
		pc := l.read(b, portSchema(), sc)
		out = append(out, topology.PortSpec{
			Name: b.label, Origin: b.origin(), Port: l.number(pc.attrs["port"], sc), Protocol: l.text(pc.attrs["protocol"], sc)})
	}
	return out
}
