package language

import (
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/claims"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// What the blocks that describe the lab as a whole may hold.

// netlabTable is what a scenario says about itself.
func (l *loader) netlabTable(name, required *topology.Opt[string]) blocks.Schema {
	return blocks.Schema{Kind: "netlab block", Attrs: []blocks.Attribute{
		{At: required, Name: "required_version", Means: "The versions of netlab that the scenario works with."},
		{At: name, Name: "name", Means: "The name of the lab; by default that of the file."},
		{At: &l.spec.Description, Name: "description", Means: "What the scenario is about."},
	}}
}

// variableBody is a value that is set from outside.
type variableBody struct {
	*blocks.Content
	typ, def *hcl.Attribute
}

func (b *variableBody) table() blocks.Schema {
	return blocks.Schema{Kind: "variable", Blocks: []blocks.Nested{
		blocks.Plain("validation", "A condition that values must meet.", func() blocks.Schema { return validationTable(new(*hcl.Attribute), new(*hcl.Attribute)) }),
	}, Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(&b.typ, "type"), Name: "type", Means: "The type that values are converted to."},
		{At: blocks.AsWritten(&b.def, "any value"), Name: "default", Means: "The value if none is set."},
		{At: blocks.Raw("string"), Name: "description", Means: "What the variable is for."},
		{At: new(topology.Opt[bool]), Name: "sensitive", Default: `false`, Means: "Whether the value is a secret; no diagnostic shows any value."},
	}}
}

// validationTable is a condition that a variable must meet.
func validationTable(condition, message **hcl.Attribute) blocks.Schema {
	return blocks.Schema{Kind: "validation block", Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(condition, "expression"), Name: "condition", Required: true, Means: "What must be true of the value."},
		{At: blocks.AsWritten(message, "string"), Name: "error_message", Required: true, Means: "The message if it is not."},
	}}
}

// networkTable is the network of the lab.
func (l *loader) networkTable(n *topology.NetworkSpec) blocks.Schema {
	var modes []blocks.Nested
	for _, m := range l.catalogue.Networks {
		modes = append(modes, blocks.Plain(m.Name, "Options of the mode: "+m.About+".", func() blocks.Schema { return networkModeTable(m, new(topology.NetworkSpec)) }))
	}
	modes = append(modes, blocks.Plain("bgp", "Nodes learn the routes to each other's pods by BGP; without the block these routes are written.", func() blocks.Schema { return bgpTable(new(topology.BGPSpec)) }))
	own := ""
	for _, m := range l.catalogue.Networks {
		if m.DefaultCIDR != "" {
			own += "; " + m.DefaultCIDR + " in mode " + m.Name
		}
	}
	return blocks.Schema{Kind: "network", Blocks: modes, PlannedBlocks: blocks.Planned(false, l.catalogue.PlannedNetworks...), Attrs: []blocks.Attribute{
		{At: &n.Mode, Name: "mode", Default: strconv.Quote(l.catalogue.Networks[0].Name), Means: "How packets get from a pod to a pod of another node: " + strings.Join(l.catalogue.NetworkNames(), ", ") + "."},
		{At: &n.PodCIDRs, Name: "pod_cidr", Default: `"10.244.0.0/16"`, Means: "The addresses of pods, one prefix per IP family" + own + "."},
		{At: &n.ServiceCIDRs, Name: "service_cidr", Default: `"10.96.0.0/16"`, Means: "The cluster IPs of services."},
		{At: &n.NodeCIDRs, Name: "node_cidr", Default: `"192.168.0.0/24"`, Means: "The addresses of nodes and clients."},
		{At: &n.LoadBalancerCIDRs, Name: "load_balancer_cidr", Default: `"203.0.113.0/24"`, Means: "The addresses that services of type LoadBalancer get."},
		{At: blocks.Value{Type: "number, or list of two", Read: l.nodePrefix}, Name: "node_prefix", Default: `24`, Means: "The prefix length of the part of pod_cidr that each node gets, or a list of two for both IP families; for IPv6 the default is 64."},
		{At: &n.MTU, Name: "mtu", Default: `1500`, Means: "The MTU between the nodes, in bytes."},
		{At: &n.MasqueradeNodeTraffic, Name: "masquerade_node_traffic", Default: `true`, Means: "Whether connections from pods to other nodes are masqueraded."},
		{At: &n.FlannelLayout, Name: "flannel_layout", Default: strconv.Quote(topology.FlannelCurrent), Means: "The layout of the rules in modes whose rules are flannel's: " + topology.FlannelCurrent + ", with chains of its own, or " + topology.FlannelOld + ", as flannel wrote them until that version, which leave alone what a pod sends to a pod by way of other nodes."},
		{At: &n.Docker, Name: "docker", Default: `false`, Means: "Whether every node has Docker, too: its bridge docker0 (" + topology.DockerCIDR + "), on which no pod is, and the rules of its daemon; in labs with IPv4."},
	}}
}

// matrixTable is the variations in which netlab test runs a scenario.
func (l *loader) matrixTable() blocks.Schema {
	axis := blocks.Value{Type: "list of strings", Read: l.axis}
	return blocks.Schema{Kind: "matrix block", Attrs: []blocks.Attribute{
		{At: axis, Name: "network", Means: "Pod-network modes."},
		{At: axis, Name: "proxy", Means: "Proxy modes."},
		{At: axis, Name: "policies", Means: "Styles of network policies."},
		{At: axis, Name: "ip_families", Means: "IP families: ipv4, ipv6 or dual."},
	}}
}

// networkModeTable is the options of a pod-network mode.
func networkModeTable(m topology.NetworkMode, n *topology.NetworkSpec) blocks.Schema {
	s := blocks.Schema{Kind: m.Name + " block"}
	v := &n.VXLAN
	switch m.Tunnel {
	case topology.IPIPTunnel:
		s.Attrs = []blocks.Attribute{
			{At: &n.IPIP.Mode, Name: "mode", Default: `"Always"`, Means: "Which packets between nodes go through the tunnel: Always, or CrossSubnet, where the nodes are not on one link."},
		}
	case topology.VXLANTunnel:
		s.Attrs = []blocks.Attribute{
			{At: &v.VNI, Name: "vni", Default: `1`, Means: "The VXLAN network identifier."},
			{At: &v.Port, Name: "port", Default: `8472`, Means: "The UDP port of the tunnels."},
			{At: &v.DirectRouting, Name: "direct_routing", Default: `false`, Means: "Whether neighbouring nodes route to each other without a tunnel."},
		}
	}
	if m.Encrypts {
		s.Attrs = append(s.Attrs, blocks.Attribute{At: &n.Secret, Name: "secret",
			Means: "What the keys of each pair of nodes are derived from, 16 to 256 bytes; by default the name of the lab."})
	}
	return s
}

// bgpTable is the BGP of nodes.
func bgpTable(b *topology.BGPSpec) blocks.Schema {
	return blocks.Schema{Kind: "bgp block", Attrs: []blocks.Attribute{
		{At: &b.AS, Name: "as", Default: `64512`, Means: "The number of the nodes' autonomous system."},
		{At: blocks.NamesOf("node", &b.Reflectors), Name: "route_reflectors", Means: "The nodes that pass on what they hear, so that all others peer with these only; without any, every node peers with every other."},
	}}
}

// routerBGPTable is the BGP of a router.
func routerBGPTable(b *topology.BGPSpec) blocks.Schema {
	return blocks.Schema{Kind: "bgp block", Attrs: []blocks.Attribute{
		{At: &b.AS, Name: "as", Required: true, Means: "The number of the router's autonomous system, which no other router has, nor the nodes."},
	}}
}

// proxyTable is how services are implemented.
func (l *loader) proxyTable(p *topology.ProxySpec) blocks.Schema {
	var modes []blocks.Nested
	oneAddress := l.catalogue.ProxiesThat(func(m topology.ProxyMode) bool { return m.NodePortSet })
	for _, m := range l.catalogue.Proxies {
		if m.Exec {
			continue
		}
		modes = append(modes, blocks.Plain(m.Name, "Options of the mode: "+m.About+".", func() blocks.Schema { return proxyModeTable(m, new(topology.ProxySpec)) }))
	}
	known := l.catalogue.ProxiesThat(func(m topology.ProxyMode) bool { return !m.Exec })
	exec := topology.First(l.catalogue.Proxies, func(m topology.ProxyMode) bool { return m.Exec })
	return blocks.Schema{Kind: "proxy", Blocks: append(modes, l.programBlocks("agent")...), PlannedBlocks: blocks.Planned(false, l.catalogue.PlannedProxies...), Attrs: append([]blocks.Attribute{
		{At: &p.Mode, Name: "mode", Default: strconv.Quote(l.catalogue.Proxies[0].Name), Means: "What forwards connections to services: " + strings.Join(l.catalogue.ProxyNames(), ", ") + "."},
		{At: &p.MasqueradeAll, Name: "masquerade_all", Default: `false`, Means: "Whether all connections to cluster IPs are masqueraded."},
		{At: &p.DetectLocal, Name: "detect_local", Default: `"cluster_cidr"`, Means: "How connections of pods are told from others: cluster_cidr or none."},
		{At: blocks.Value{Type: "range of ports", Read: l.nodePortRange}, Name: "node_port_range", Default: `"30000-32767"`, Means: "The range of node ports."},
		{At: &p.NodePortAddresses, Name: "node_port_addresses", Means: "The node addresses that serve node ports; if none is given, all, or the first of each family with " + strings.Join(oneAddress, ", ") + "."},
		{At: &p.LocalNodePorts, Name: "local_node_ports", Default: `true`, Means: "Whether node ports answer on 127.0.0.1."},
	}, l.agentAttributes(&p.Agent, "mode", exec.Name, "forwards connections to services; kube-proxy gets the flags that it needs in a lab, and those that follow from this block, before its own", strconv.Quote(known[0]), known)...)}
}

// proxyModeTable is the options of a proxy mode.
func proxyModeTable(m topology.ProxyMode, p *topology.ProxySpec) blocks.Schema {
	s := blocks.Schema{Kind: m.Name + " block"}
	if m.VirtualServers {
		s.Attrs = append(s.Attrs,
			blocks.Attribute{At: &p.IPVS.Scheduler, Name: "scheduler", Default: strconv.Quote(resolve.Schedulers()[0]), Means: "How a virtual server chooses the real server of a connection."},
			blocks.Attribute{At: &p.IPVS.StrictARP, Name: "strict_arp", Default: `false`, Means: "Whether nodes answer ARP requests only for addresses of the link that the request came in on."},
			blocks.Attribute{At: &p.IPVS.Addresses, Name: "addresses", Default: `"dummy"`, Means: "What makes service addresses local to a node: dummy or local_routes."})
	}
	if len(m.Layouts) > 0 {
		means := "The layout of the rules: " + m.Layouts[0].Name
		for _, l := range m.Layouts[1:] {
			means += ", or " + l.Name + ", " + l.About
		}
		s.Attrs = append(s.Attrs, blocks.Attribute{At: p.Layout(m.Name), Name: "layout", Default: strconv.Quote(m.Layouts[0].Name), Means: means + "."})
	}
	return s
}

// fileSchema is the schema of the top level of a file.
func (l *loader) fileSchema() blocks.Schema {
	return blocks.Schema{Kind: "scenario", PlannedBlocks: blocks.Planned(true, "step"), Blocks: []blocks.Nested{
		blocks.Plain("netlab", "What the scenario says about itself.", func() blocks.Schema {
			return l.netlabTable(new(topology.Opt[string]), new(topology.Opt[string]))
		}),
		blocks.Labeled("variable", "A value that is set from outside, and used as var.NAME.", func() blocks.Schema { return new(variableBody).table() }),
		blocks.Plain("locals", "Any attributes: values that are used as local.NAME.", nil),
		blocks.Plain("network", "How pods reach each other, and which addresses there are.", func() blocks.Schema { return l.networkTable(new(topology.NetworkSpec)) }),
		blocks.Plain("proxy", "How nodes implement services.", func() blocks.Schema { return l.proxyTable(new(topology.ProxySpec)) }),
		blocks.Plain("dns", "Names of services and pods, served by pods in the cluster, instead of the service kube-dns of manifests and the pods behind it; without the block every pod finds the names of the lab in its /etc/hosts.", func() blocks.Schema { return dnsTable(new(topology.DNSSpec)) }),
		blocks.Plain("policies", "How nodes implement network policies.", func() blocks.Schema { return l.policiesTable(new(topology.PoliciesSpec)) }),
		blocks.Plain("matrix", "Variations in which netlab test runs the scenario, side by side.", l.matrixTable),
		blocks.Labeled("subnet", "A link of the underlay beside that of node_cidr, which is subnet.default.", func() blocks.Schema { return subnetTable(new(topology.SubnetSpec)) }),
		blocks.Labeled("router", "A router that joins subnets.", func() blocks.Schema { return l.routerTable(new(topology.RouterSpec)) }),
		blocks.Labeled("node", "A node of the cluster.", func() blocks.Schema { return l.nodeTable(new(topology.NodeSpec)) }),
		blocks.Labeled("client", "A host outside the cluster, on the underlay.", func() blocks.Schema { return l.clientTable(new(topology.ClientSpec)) }),
		blocks.Labeled("namespace", "A Kubernetes namespace; default always exists.", func() blocks.Schema { return namespaceTable(new(topology.NamespaceSpec)) }),
		blocks.Labeled("pod", "A pod, or several of them.", func() blocks.Schema { return l.podTable(new(topology.PodSpec)) }),
		blocks.Labeled("service", "A Kubernetes service.", func() blocks.Schema { return serviceTable(new(topology.ServiceSpec)) }),
		blocks.Plain("ingress_controller", "What passes on the HTTP requests of ingresses: pods of namespace ingress, behind the service ingress-controller there; a lab with an ingress has one without the block, too.", func() blocks.Schema { return controllerTable(new(topology.ControllerSpec)) }),
		blocks.Labeled("ingress", "A Kubernetes Ingress: which services the HTTP requests for hosts and paths go to.", func() blocks.Schema { return ingressTable(new(topology.IngressSpec)) }),
		blocks.Labeled("gateway", "A Gateway of the Gateway API, served by the ingress controller.", func() blocks.Schema { return gatewayTable(new(topology.GatewaySpec)) }),
		blocks.Labeled("http_route", "An HTTPRoute of the Gateway API, served by the ingress controller.", func() blocks.Schema { return httpRouteTable(new(topology.HTTPRouteSpec)) }),
		blocks.Labeled("reference_grant", "A ReferenceGrant of the Gateway API, which lets routes lead to services of another namespace.", func() blocks.Schema { return grantTable(new(topology.ReferenceGrantSpec)) }),
		blocks.Labeled("policy", "A Kubernetes NetworkPolicy.", func() blocks.Schema { return policyTable(new(topology.PolicySpec)) }),
		blocks.Labeled("cluster_policy", "A ClusterNetworkPolicy, which applies to pods of all namespaces.", func() blocks.Schema { return clusterPolicyTable(new(topology.ClusterPolicySpec)) }),
		blocks.Labeled("import", "The Kubernetes objects of manifests, as if they were written here: a file, a folder or a pattern, whose path starts in the folder of the scenario.", importTable),
		blocks.Labeled("expect", "A claim about connections, which netlab test proves with packets.", claims.ExpectTable),
		blocks.Labeled("fault", "Something that is broken on purpose, with claims about how that shows; it is put right afterwards.", func() blocks.Schema { return claims.FaultTable(l.catalogue.Faults) }),
	}}
}

// Reference is the whole language: the top level of a file, with the table of each block
// below it.
func Reference(c topology.Catalogue) blocks.Schema {
	return (&loader{catalogue: c, spec: new(topology.Spec)}).fileSchema()
}
