package language

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// What the blocks that describe the lab as a whole may hold.

// netlabBody is what a scenario says about itself.
type netlabBody struct {
	content
	requiredVersion, name, description *hcl.Attribute
}

func (b *netlabBody) schema() schema {
	return schema{
		kind: "netlab block",
		attrs: []attribute{
			{at: &b.requiredVersion, name: "required_version", holds: aString, means: "The versions of netlab that the scenario works with."},
			{at: &b.name, name: "name", holds: aString, means: "The name of the lab; by default that of the file."},
			{at: &b.description, name: "description", holds: aString, means: "What the scenario is about."},
		},
	}
}

// variableBody is a value that is set from outside.
type variableBody struct {
	content
	typ, def, description, sensitive *hcl.Attribute
}

func (b *variableBody) schema() schema {
	return schema{
		kind: "variable",
		attrs: []attribute{
			{at: &b.typ, name: "type", holds: aType, means: "The type that values are converted to."},
			{at: &b.def, name: "default", holds: anything, means: "The value if none is set."},
			{at: &b.description, name: "description", holds: aString, means: "What the variable is for."},
			{at: &b.sensitive, name: "sensitive", holds: aBool, def: `false`, means: "Whether the value is a secret; no diagnostic shows any value."},
		},
		blocks: named(false, "validation"),
	}
}

// validationBody is a condition that a variable must meet.
type validationBody struct {
	content
	condition, errorMessage *hcl.Attribute
}

func (b *validationBody) schema() schema {
	return schema{
		kind: "validation block",
		attrs: []attribute{
			{at: &b.condition, name: "condition", holds: anExpression, required: true, means: "What must be true of the value."},
			{at: &b.errorMessage, name: "error_message", holds: aString, required: true, means: "The message if it is not."},
		},
	}
}

// networkBody is the network of the lab.
type networkBody struct {
	content
	catalogue topology.Catalogue

	mode, podCIDR, serviceCIDR, nodeCIDR, loadBalancerCIDR, nodePrefix, mtu, masqueradeNodeTraffic *hcl.Attribute
}

func (b *networkBody) schema() schema {
	return schema{
		kind: "network",
		attrs: []attribute{
			{at: &b.mode, name: "mode", holds: aString, def: strconv.Quote(b.catalogue.Networks[0].Name), means: "How packets get from a pod to a pod of another node."},
			{at: &b.podCIDR, name: "pod_cidr", holds: someCIDRs, def: `"10.244.0.0/16"`, means: "The addresses of pods, one prefix per IP family."},
			{at: &b.serviceCIDR, name: "service_cidr", holds: someCIDRs, def: `"10.96.0.0/16"`, means: "The cluster IPs of services."},
			{at: &b.nodeCIDR, name: "node_cidr", holds: someCIDRs, def: `"192.168.0.0/24"`, means: "The addresses of nodes and clients."},
			{at: &b.loadBalancerCIDR, name: "load_balancer_cidr", holds: someCIDRs, def: `"203.0.113.0/24"`, means: "The addresses that services of type LoadBalancer get."},
			{at: &b.nodePrefix, name: "node_prefix", holds: aNumber, def: `24`, means: "The prefix length of the part of pod_cidr that each node gets, or a list of two for both IP families; for IPv6 the default is 64."},
			{at: &b.mtu, name: "mtu", holds: aNumber, def: `1500`, means: "The MTU between the nodes, in bytes."},
			{at: &b.masqueradeNodeTraffic, name: "masquerade_node_traffic", holds: aBool, def: `true`, means: "Whether connections from pods to other nodes are masqueraded."},
		},
		blocks:        named(false, b.catalogue.NetworkNames()...),
		plannedBlocks: named(false, b.catalogue.PlannedNetworks...),
	}
}

// matrixBody is the variations in which netlab test runs a scenario.
type matrixBody struct {
	content
	network, proxy, policies, ipFamilies *hcl.Attribute
}

func (b *matrixBody) schema() schema {
	return schema{
		kind: "matrix block",
		attrs: []attribute{
			{at: &b.network, name: "network", holds: aList, means: "Pod-network modes."},
			{at: &b.proxy, name: "proxy", holds: aList, means: "Proxy modes."},
			{at: &b.policies, name: "policies", holds: aList, means: "Styles of network policies."},
			{at: &b.ipFamilies, name: "ip_families", holds: aList, means: "IP families: ipv4, ipv6 or dual."},
		},
	}
}

// networkModeBody is the options of a pod-network mode.
type networkModeBody struct {
	content
	mode topology.NetworkMode

	vni, port, directRouting *hcl.Attribute
}

func (b *networkModeBody) schema() schema {
	s := schema{kind: b.mode.Name + " block"}
	if b.mode.Tunnel == topology.VXLANTunnel {
		s.attrs = []attribute{
			{at: &b.vni, name: "vni", holds: aNumber, def: `1`, means: "The VXLAN network identifier."},
			{at: &b.port, name: "port", holds: aNumber, def: `8472`, means: "The UDP port of the tunnels."},
			{at: &b.directRouting, name: "direct_routing", holds: aBool, def: `false`, means: "Whether neighbouring nodes route to each other without a tunnel."},
		}
	}
	return s
}

// proxyBody is how services are implemented.
type proxyBody struct {
	content
	catalogue topology.Catalogue

	mode, masqueradeAll, detectLocal, nodePortRange, nodePortAddresses, localNodePorts *hcl.Attribute
}

func (b *proxyBody) schema() schema {
	return schema{
		kind: "proxy",
		attrs: []attribute{
			{at: &b.mode, name: "mode", holds: aString, def: strconv.Quote(b.catalogue.Proxies[0].Name), means: "What forwards connections to services."},
			{at: &b.masqueradeAll, name: "masquerade_all", holds: aBool, def: `false`, means: "Whether all connections to cluster IPs are masqueraded."},
			{at: &b.detectLocal, name: "detect_local", holds: aString, def: `"cluster_cidr"`, means: "How connections of pods are told from others: cluster_cidr or none."},
			{at: &b.nodePortRange, name: "node_port_range", holds: aString, def: `"30000-32767"`, means: "The range of node ports."},
			{at: &b.nodePortAddresses, name: "node_port_addresses", holds: someCIDRs, means: "The node addresses that serve node ports, all if none is given."},
			{at: &b.localNodePorts, name: "local_node_ports", holds: aBool, def: `true`, means: "Whether node ports answer on 127.0.0.1."},
		},
		blocks:        named(false, b.catalogue.ProxyNames()...),
		plannedBlocks: named(false, b.catalogue.PlannedProxies...),
	}
}

// proxyModeBody is the options of a proxy mode.
type proxyModeBody struct {
	content
	mode topology.ProxyMode

	scheduler, strictARP, addresses, layout *hcl.Attribute
}

func (b *proxyModeBody) schema() schema {
	s := schema{kind: b.mode.Name + " block"}
	if b.mode.VirtualServers {
		s.attrs = append(s.attrs,
			attribute{at: &b.scheduler, name: "scheduler", holds: aString, def: strconv.Quote(resolve.Schedulers()[0]), means: "How a virtual server chooses the real server of a connection."},
			attribute{at: &b.strictARP, name: "strict_arp", holds: aBool, def: `false`, means: "Whether nodes answer ARP requests only for addresses of the link that the request came in on."},
			attribute{at: &b.addresses, name: "addresses", holds: aString, def: `"dummy"`, means: "What makes service addresses local to a node: dummy or local_routes."})
	}
	if b.mode.Layouts {
		s.attrs = append(s.attrs, attribute{at: &b.layout, name: "layout", holds: aString, def: `"current"`, means: "The layout of the rules: current, or legacy, as in old versions of Kubernetes."})
	}
	return s
}
