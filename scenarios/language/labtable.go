package language

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// What the blocks that describe the lab as a whole may hold.

// netlabBody is what a scenario says about itself.
type netlabBody struct {
	blocks.Content
	requiredVersion, name, description *hcl.Attribute
}

func (b *netlabBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "netlab block",
		Attrs: []blocks.Attribute{
			{At: &b.requiredVersion, Name: "required_version", Holds: blocks.AString, Means: "The versions of netlab that the scenario works with."},
			{At: &b.name, Name: "name", Holds: blocks.AString, Means: "The name of the lab; by default that of the file."},
			{At: &b.description, Name: "description", Holds: blocks.AString, Means: "What the scenario is about."},
		},
	}
}

// variableBody is a value that is set from outside.
type variableBody struct {
	blocks.Content
	typ, Default, description, sensitive *hcl.Attribute
}

func (b *variableBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "variable",
		Attrs: []blocks.Attribute{
			{At: &b.typ, Name: "type", Holds: blocks.AType, Means: "The type that values are converted to."},
			{At: &b.Default, Name: "default", Holds: blocks.Anything, Means: "The value if none is set."},
			{At: &b.description, Name: "description", Holds: blocks.AString, Means: "What the variable is for."},
			{At: &b.sensitive, Name: "sensitive", Holds: blocks.ABool, Default: `false`, Means: "Whether the value is a secret; no diagnostic shows any value."},
		},
		Blocks: blocks.Named(false, "validation"),
	}
}

// validationBody is a condition that a variable must meet.
type validationBody struct {
	blocks.Content
	condition, errorMessage *hcl.Attribute
}

func (b *validationBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "validation block",
		Attrs: []blocks.Attribute{
			{At: &b.condition, Name: "condition", Holds: blocks.AnExpression, Required: true, Means: "What must be true of the value."},
			{At: &b.errorMessage, Name: "error_message", Holds: blocks.AString, Required: true, Means: "The message if it is not."},
		},
	}
}

// networkBody is the network of the lab.
type networkBody struct {
	blocks.Content
	catalogue topology.Catalogue

	mode, podCIDR, serviceCIDR, nodeCIDR, loadBalancerCIDR, nodePrefix, mtu, masqueradeNodeTraffic *hcl.Attribute
}

func (b *networkBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "network",
		Attrs: []blocks.Attribute{
			{At: &b.mode, Name: "mode", Holds: blocks.AString, Default: strconv.Quote(b.catalogue.Networks[0].Name), Means: "How packets get from a pod to a pod of another node."},
			{At: &b.podCIDR, Name: "pod_cidr", Holds: blocks.SomeCIDRs, Default: `"10.244.0.0/16"`, Means: "The addresses of pods, one prefix per IP family."},
			{At: &b.serviceCIDR, Name: "service_cidr", Holds: blocks.SomeCIDRs, Default: `"10.96.0.0/16"`, Means: "The cluster IPs of services."},
			{At: &b.nodeCIDR, Name: "node_cidr", Holds: blocks.SomeCIDRs, Default: `"192.168.0.0/24"`, Means: "The addresses of nodes and clients."},
			{At: &b.loadBalancerCIDR, Name: "load_balancer_cidr", Holds: blocks.SomeCIDRs, Default: `"203.0.113.0/24"`, Means: "The addresses that services of type LoadBalancer get."},
			{At: &b.nodePrefix, Name: "node_prefix", Holds: blocks.ANumber, Default: `24`, Means: "The prefix length of the part of pod_cidr that each node gets, or a list of two for both IP families; for IPv6 the default is 64."},
			{At: &b.mtu, Name: "mtu", Holds: blocks.ANumber, Default: `1500`, Means: "The MTU between the nodes, in bytes."},
			{At: &b.masqueradeNodeTraffic, Name: "masquerade_node_traffic", Holds: blocks.ABool, Default: `true`, Means: "Whether connections from pods to other nodes are masqueraded."},
		},
		Blocks:        blocks.Named(false, b.catalogue.NetworkNames()...),
		PlannedBlocks: blocks.Named(false, b.catalogue.PlannedNetworks...),
	}
}

// matrixBody is the variations in which netlab test runs a scenario.
type matrixBody struct {
	blocks.Content
	network, proxy, policies, ipFamilies *hcl.Attribute
}

func (b *matrixBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "matrix block",
		Attrs: []blocks.Attribute{
			{At: &b.network, Name: "network", Holds: blocks.AList, Means: "Pod-network modes."},
			{At: &b.proxy, Name: "proxy", Holds: blocks.AList, Means: "Proxy modes."},
			{At: &b.policies, Name: "policies", Holds: blocks.AList, Means: "Styles of network policies."},
			{At: &b.ipFamilies, Name: "ip_families", Holds: blocks.AList, Means: "IP families: ipv4, ipv6 or dual."},
		},
	}
}

// networkModeBody is the options of a pod-network mode.
type networkModeBody struct {
	blocks.Content
	mode topology.NetworkMode

	vni, port, directRouting *hcl.Attribute
}

func (b *networkModeBody) Schema() blocks.Schema {
	s := blocks.Schema{Kind: b.mode.Name + " block"}
	if b.mode.Tunnel == topology.VXLANTunnel {
		s.Attrs = []blocks.Attribute{
			{At: &b.vni, Name: "vni", Holds: blocks.ANumber, Default: `1`, Means: "The VXLAN network identifier."},
			{At: &b.port, Name: "port", Holds: blocks.ANumber, Default: `8472`, Means: "The UDP port of the tunnels."},
			{At: &b.directRouting, Name: "direct_routing", Holds: blocks.ABool, Default: `false`, Means: "Whether neighbouring nodes route to each other without a tunnel."},
		}
	}
	return s
}

// proxyBody is how services are implemented.
type proxyBody struct {
	blocks.Content
	catalogue topology.Catalogue

	mode, masqueradeAll, detectLocal, nodePortRange, nodePortAddresses, localNodePorts *hcl.Attribute
}

func (b *proxyBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "proxy",
		Attrs: []blocks.Attribute{
			{At: &b.mode, Name: "mode", Holds: blocks.AString, Default: strconv.Quote(b.catalogue.Proxies[0].Name), Means: "What forwards connections to services."},
			{At: &b.masqueradeAll, Name: "masquerade_all", Holds: blocks.ABool, Default: `false`, Means: "Whether all connections to cluster IPs are masqueraded."},
			{At: &b.detectLocal, Name: "detect_local", Holds: blocks.AString, Default: `"cluster_cidr"`, Means: "How connections of pods are told from others: cluster_cidr or none."},
			{At: &b.nodePortRange, Name: "node_port_range", Holds: blocks.AString, Default: `"30000-32767"`, Means: "The range of node ports."},
			{At: &b.nodePortAddresses, Name: "node_port_addresses", Holds: blocks.SomeCIDRs, Means: "The node addresses that serve node ports, all if none is given."},
			{At: &b.localNodePorts, Name: "local_node_ports", Holds: blocks.ABool, Default: `true`, Means: "Whether node ports answer on 127.0.0.1."},
		},
		Blocks:        blocks.Named(false, b.catalogue.ProxyNames()...),
		PlannedBlocks: blocks.Named(false, b.catalogue.PlannedProxies...),
	}
}

// proxyModeBody is the options of a proxy mode.
type proxyModeBody struct {
	blocks.Content
	mode topology.ProxyMode

	scheduler, strictARP, addresses, layout *hcl.Attribute
}

func (b *proxyModeBody) Schema() blocks.Schema {
	s := blocks.Schema{Kind: b.mode.Name + " block"}
	if b.mode.VirtualServers {
		s.Attrs = append(s.Attrs,
			blocks.Attribute{At: &b.scheduler, Name: "scheduler", Holds: blocks.AString, Default: strconv.Quote(resolve.Schedulers()[0]), Means: "How a virtual server chooses the real server of a connection."},
			blocks.Attribute{At: &b.strictARP, Name: "strict_arp", Holds: blocks.ABool, Default: `false`, Means: "Whether nodes answer ARP requests only for addresses of the link that the request came in on."},
			blocks.Attribute{At: &b.addresses, Name: "addresses", Holds: blocks.AString, Default: `"dummy"`, Means: "What makes service addresses local to a node: dummy or local_routes."})
	}
	if b.mode.Layouts {
		s.Attrs = append(s.Attrs, blocks.Attribute{At: &b.layout, Name: "layout", Holds: blocks.AString, Default: `"current"`, Means: "The layout of the rules: current, or legacy, as in old versions of Kubernetes."})
	}
	return s
}

// fileSchema is the schema of the top level of a file.
func fileSchema() blocks.Schema {
	return blocks.Schema{
		Kind: "scenario",
		Blocks: append(blocks.Named(false, "netlab", "locals", "network", "proxy", "policies", "matrix"),
			blocks.Named(true, "variable", "node", "client", "namespace", "pod", "service", "policy", "cluster_policy", "expect")...),
		PlannedBlocks: blocks.Named(true, "ingress", "step"),
	}
}
