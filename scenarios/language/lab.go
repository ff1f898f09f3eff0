package language

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	var name, required topology.Opt[string]
	l.Read(b, l.netlabTable(&name, &required))
	if name.Set {
		if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`).MatchString(name.Value) {
			l.Errorf(source.RangeOf(name.Origin), "Invalid name", "The name of a lab is up to 63 of a-z, 0-9 and \"-\", and begins and ends with a letter or digit. Choose another one.")
		} else {
			l.spec.Name = name.Value
		}
	}
	if required.Set {
		l.checkVersion(required, opts.Version)
	}
}

func (l *loader) evalNetwork() {
	b := l.Single("network")
	if b == nil {
		l.spec.Network = l.objectsOf.Network()
		return
	}
	n := &l.spec.Network
	n.Origin = b.Origin()
	c := l.Read(b, l.networkTable(n))
	mode := n.Mode.Or(l.catalogue.Networks[0].Name)
	_, varied := l.varied.of("network")
	if o := l.Option(c, "bgp"); o != nil {
		n.BGP.Written, n.BGP.Origin = true, o.Origin()
		learns := learning(l.catalogue)
		if !varied && slices.Contains(l.catalogue.NetworkNames(), mode) && !slices.Contains(learns, strconv.Quote(mode)) {
			l.Errorf(o.KindRange, "Mode without BGP", "With mode %q nodes do not learn routes by BGP. Remove the bgp block, or set mode = %s.", mode, strings.Join(learns, " or "))
		}
		l.then(func() { l.Read(o, bgpTable(&n.BGP)) })
	}
	for _, m := range l.catalogue.Networks {
		o := l.Option(c, m.Name)
		if o == nil {
			continue
		}
		if m.Name != mode && !varied {
			l.Errorf(o.KindRange, "Options of another mode", "The mode is %q, so the %s block has no effect. Remove it, or set mode = %q.", mode, m.Name, m.Name)
		}
		l.Read(o, networkModeTable(m, n))
		if m.Tunnel == topology.VXLANTunnel {
			n.VXLAN.Origin = o.Origin()
		}
	}
}

// learning are the modes with BGP, quoted.
func learning(c topology.Catalogue) (names []string) {
	for _, m := range c.Networks {
		if m.LearnsRoutes {
			names = append(names, strconv.Quote(m.Name))
		}
	}
	return names
}

// nodePrefix reads one prefix length, or a list of one per family.
func (l *loader) nodePrefix(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
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
	p := &l.spec.Proxy
	p.Origin = b.Origin()
	c := l.Read(b, l.proxyTable(p))
	l.program(c, &p.Agent.Program)
	written := topology.First(l.catalogue.Proxies, func(m topology.ProxyMode) bool { return m.Name == p.Mode.Value })
	if written.Exec {
		written = topology.First(l.catalogue.Proxies, func(m topology.ProxyMode) bool { return m.Name == p.Agent.Like.Value })
	}
	if written.UserSpace {
		l.withoutEffect(written.Name, p)
	}
	for _, m := range l.catalogue.Proxies {
		if o := l.Option(c, m.Name); o != nil {
			if written.UserSpace && m.Name != written.Name {
				l.Errorf(o.KindRange, "Option of another proxy mode", "The %s block has no effect in proxy mode %s. Remove it, or write mode = %q.", m.Name, written.Name, m.Name)
			}
			l.Read(o, proxyModeTable(m, p))
			if m.VirtualServers {
				p.IPVS.Origin = o.Origin()
			}
		}
	}
}

// withoutEffect reports options that a proxy in user space does not have.
func (l *loader) withoutEffect(mode string, p *topology.ProxySpec) {
	for _, o := range []struct {
		name, why string
		given     bool
		origin    topology.Origin
	}{
		{"masquerade_all", "servers always see the node", p.MasqueradeAll.Value, p.MasqueradeAll.Origin},
		{"detect_local", "servers always see the node", p.DetectLocal.Set, p.DetectLocal.Origin},
		{"node_port_addresses", "node ports answer on all addresses of a node", p.NodePortAddresses.Set, p.NodePortAddresses.Origin},
		{"local_node_ports", "node ports answer on all addresses of a node", p.LocalNodePorts.Set && !p.LocalNodePorts.Value, p.LocalNodePorts.Origin},
	} {
		if o.given {
			l.Errorf(source.RangeOf(o.origin), "Option of another proxy mode", "%s has no effect in proxy mode %s, where %s. Remove it, or use proxy mode %s.", o.name, mode, o.why, topology.OneOf(l.catalogue.KernelProxies()))
		}
	}
}

// nodePortRange reads a range such as "30000-32767".
func (l *loader) nodePortRange(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
	r := l.Text(a, sc)
	if !r.Set {
		return
	}
	m := regexp.MustCompile(`^(\d{1,6})-(\d{1,6})$`).FindStringSubmatch(r.Value)
	if m == nil {
		l.Errorf(source.RangeOf(r.Origin), "Invalid range", "node_port_range must be two numbers, not %q. Write node_port_range = \"30000-32767\".", r.Value)
		return
	}
	lo, _ := strconv.Atoi(m[1])
	hi, _ := strconv.Atoi(m[2])
	l.spec.Proxy.NodePortMin, l.spec.Proxy.NodePortMax = blocks.Written(lo, a), blocks.Written(hi, a)
}

func (l *loader) evalSubnets() {
	for b := range l.Objects("subnet") {
		s := topology.SubnetSpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		l.Read(b, subnetTable(&s))
		l.spec.Subnets = append(l.spec.Subnets, s)
	}
	if _, ok := l.Declared["subnet"][topology.DefaultSubnet]; !ok {
		l.Declare("subnet", topology.DefaultSubnet, hcl.Range{})
	}
}

func (l *loader) evalRouters() {
	for b := range l.Objects("router") {
		s := topology.RouterSpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		c := l.Read(b, l.routerTable(&s))
		for _, lb := range c.Named("link") {
			link := topology.RouterLinkSpec{Name: lb.Label, Origin: lb.Origin()}
			l.Read(lb, routerLinkTable(&link))
			link.Link.Origin = link.Origin
			s.Links = append(s.Links, link)
		}
		if o := l.Option(c, "bgp"); o != nil {
			s.BGP.Written, s.BGP.Origin = true, o.Origin()
			l.Read(o, routerBGPTable(&s.BGP))
		}
		s.Drops = make([]topology.DropSpec, len(c.Named("drop")))
		for i, db := range c.Named("drop") {
			d := &s.Drops[i]
			d.Origin = db.Origin()
			if l.Read(db, l.dropTable(d)).Given == 0 {
				l.Errorf(db.KindRange, "Empty drop", "The drop block would drop everything. Write, for example, protocol = \"udp\", or to = \"0.0.0.0/0\" if that is what you want.")
			}
		}
		l.spec.Routers = append(l.spec.Routers, s)
		i := len(l.spec.Routers) - 1
		l.then(func() { l.spec.Routers[i] = s })
	}
}

func (l *loader) evalNodes() {
	for b := range l.Objects("node") {
		s := topology.NodeSpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		s.Link = l.link(l.Read(b, l.nodeTable(&s)))
		l.spec.Nodes = append(l.spec.Nodes, s)
		i := len(l.spec.Nodes) - 1
		l.then(func() { l.spec.Nodes[i] = s })
	}
}

func (l *loader) evalClients() {
	for b := range l.Objects("client") {
		s := topology.ClientSpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		c := l.Read(b, l.clientTable(&s))
		s.Ports, s.Link = l.ports("client", c), l.link(c)
		l.spec.Clients = append(l.spec.Clients, s)
		i := len(l.spec.Clients) - 1
		l.then(func() { l.spec.Clients[i] = s })
	}
}

// later reads an attribute that may refer to everything whose address is known.
func (l *loader) later(to any) blocks.Value {
	return blocks.Value{Type: blocks.Attribute{At: to}.Type(), Read: func(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
		l.then(func() { l.Store(to, a, sc) })
	}}
}

func (l *loader) evalNamespaces() {
	for b := range l.Objects("namespace") {
		s := topology.NamespaceSpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		l.Read(b, namespaceTable(&s))
		l.spec.Namespaces = append(l.spec.Namespaces, s)
	}
	if _, ok := l.Declared["namespace"][topology.DefaultNamespace]; !ok {
		l.Declare("namespace", topology.DefaultNamespace, hcl.Range{})
	}
}

// ports reads the port blocks of a pod or client.
func (l *loader) ports(of string, c *blocks.Content) []topology.PortSpec {
	var out []topology.PortSpec
	for _, b := range c.Named("port") {
		p := topology.PortSpec{Name: b.Label, Origin: b.Origin()}
		l.Read(b, portTable(of, &p))
		out = append(out, p)
	}
	return out
}

// link reads the link block of a node, pod or client.
func (l *loader) link(c *blocks.Content) (out topology.LinkSpec) {
	b := l.Option(c, "link")
	if b == nil {
		return out
	}
	out.Origin = b.Origin()
	if l.Read(b, linkTable(&out)).Given == 0 {
		l.Errorf(b.KindRange, "Empty link", "The link block changes nothing. Write, for example, delay = \"20ms\", or remove it.")
	}
	return out
}

func (l *loader) evalPods() {
	for b := range l.Objects("pod") {
		s := topology.PodSpec{Block: b.Label, Key: b.Key, Index: b.Index, Origin: b.Origin()}
		c := l.Read(b, l.podTable(&s))
		s.Ports, s.Link = l.ports("pod", c), l.link(c)
		l.program(c, &s.Program)
		l.dnsConfig(c, &s.DNSConfig)
		l.spec.Pods = append(l.spec.Pods, s)
		i := len(l.spec.Pods) - 1
		l.then(func() { l.spec.Pods[i] = s })
	}
}
