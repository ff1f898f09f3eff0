package language

import (
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// What the blocks of subnets, routers, nodes, clients, namespaces and pods may hold.

// nodeTable is a node of the cluster.
func (l *loader) nodeTable(s *topology.NodeSpec) blocks.Schema {
	return blocks.Schema{Kind: "node", Blocks: []blocks.Nested{linkBlock("node")}, Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
		{At: &s.Zone, Name: "zone", Means: "The zone of the node; by default its label topology.kubernetes.io/zone."},
		{At: blocks.NameOf("subnet", &s.Subnet), Name: "subnet", Default: `subnet.default`, Means: "The subnet that the node is in."},
		{At: &s.Address, Name: "address", Means: "The address of the node on the underlay; netlab chooses one if it is not set."},
		{At: &s.Key, Name: "key", Means: "The private key of the node, as wg genkey prints it, in modes in which nodes have keys; by default it is derived from the names of the lab and the node."},
		{At: l.later(&s.Routes), Name: "routes", Means: "Additional routes, each a prefix with a node, client or address, such as that of a router's link, as next hop."},
	})}
}

// subnetTable is a link of the underlay.
func subnetTable(s *topology.SubnetSpec) blocks.Schema {
	return blocks.Schema{Kind: "subnet", Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: &s.CIDRs, Name: "cidr", Means: "The addresses of the subnet, one prefix per IP family; netlab chooses a /24 of 192.168.0.0/16, and a /64, if it is not set."},
		{At: &s.MTU, Name: "mtu", Means: "The MTU of the subnet, in bytes; by default that of the network."},
	})}
}

// routerTable is a router that joins subnets.
func (l *loader) routerTable(s *topology.RouterSpec) blocks.Schema {
	return blocks.Schema{Kind: "router", Blocks: []blocks.Nested{
		blocks.Labeled("link", "A link of the router, which is also the name of the device.", func() blocks.Schema { return routerLinkTable(new(topology.RouterLinkSpec)) }),
		blocks.Plain("drop", "What the router drops instead of forwarding it.", func() blocks.Schema { return l.dropTable(new(topology.DropSpec)) }),
		blocks.Plain("bgp", "The router speaks BGP with the nodes and routers on its links, and so learns the way to pods.", func() blocks.Schema { return routerBGPTable(new(topology.BGPSpec)) }),
	}, Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: l.later(&s.Routes), Name: "routes", Means: "Additional routes, each a prefix with a node, client or address, such as that of a router's link, as next hop."},
		{At: &s.ReversePath, Name: "rp_filter", Default: `false`, Means: "Whether the router drops packets whose source it would answer by another link than the one that they arrived on; IPv4 only."},
	})}
}

// routerLinkTable is a link of a router.
func routerLinkTable(s *topology.RouterLinkSpec) blocks.Schema {
	t := linkTable(&s.Link)
	t.Attrs = append([]blocks.Attribute{
		{At: blocks.NameOf("subnet", &s.Subnet), Name: "subnet", Default: `subnet.default`, Means: "The subnet that the link is in."},
		{At: &s.Address, Name: "address", Means: "The address of the router on the link; netlab chooses one if it is not set."},
	}, t.Attrs...)
	return t
}

// dropTable is what a router drops.
func (l *loader) dropTable(s *topology.DropSpec) blocks.Schema {
	return blocks.Schema{Kind: "drop block", Attrs: []blocks.Attribute{
		{At: &s.Protocol, Name: "protocol", Means: "The protocol: tcp, udp, sctp or icmp; all if it is not set."},
		{At: &s.Port, Name: "port", Means: "The destination port."},
		{At: l.later(blocks.Networks(&s.From)), Name: "from", Means: "The sources: CIDRs, subnets, nodes, clients, routers or pods."},
		{At: l.later(blocks.Networks(&s.To)), Name: "to", Means: "The destinations: CIDRs, subnets, nodes, clients, routers or pods."},
	}}
}

// clientTable is a host outside the cluster.
func (l *loader) clientTable(s *topology.ClientSpec) blocks.Schema {
	return blocks.Schema{Kind: "client", Blocks: []blocks.Nested{portBlock("client"), linkBlock("client")}, Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: blocks.NameOf("subnet", &s.Subnet), Name: "subnet", Default: `subnet.default`, Means: "The subnet that the client is in."},
		{At: &s.Address, Name: "address", Means: "The address of the client; netlab chooses one if it is not set."},
		{At: l.later(&s.Routes), Name: "routes", Means: "Additional routes, each a prefix with a node, client or address, such as that of a router's link, as next hop."},
		{At: l.later(&s.Gateway), Name: "gateway", Means: "The default gateway."},
	})}
}

// namespaceTable is a Kubernetes namespace.
func namespaceTable(s *topology.NamespaceSpec) blocks.Schema {
	return blocks.Schema{Kind: "namespace", Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
	})}
}

// podTable is a pod, or several of them.
func (l *loader) podTable(s *topology.PodSpec) blocks.Schema {
	return blocks.Schema{Kind: "pod", Blocks: append(l.programBlocks("pod"), portBlock("pod"), linkBlock("pod"),
		blocks.Plain("dns_config", "What the pod adds to its resolver.", func() blocks.Schema { return l.dnsConfigTable(new(topology.DNSConfigSpec)) })), Attrs: append(blocks.Object(blocks.Noted(&s.Named, "string", (*blocks.Reader).Text), []blocks.Attribute{
		{At: blocks.NameOf("node", &s.Node), Name: "node", Means: "The node that the pod runs on; the nodes take turns if it is not set."},
		{At: blocks.NameOf("namespace", &s.Namespace), Name: "namespace", Default: `"default"`, Means: "The namespace of the pod."},
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
		{At: &s.Address, Name: "address", Means: "The address of the pod; netlab chooses one if it is not set."},
		{At: &s.HostNetwork, Name: "host_network", Default: `false`, Means: "Whether the pod uses the network namespace of its node."},
		{At: &s.Ready, Name: "ready", Default: `true`, Means: "Whether the pod is ready for connections to services."},
		{At: &s.Terminating, Name: "terminating", Default: `false`, Means: "Whether the pod is being deleted."},
		{At: &s.Hostname, Name: "hostname", Means: "The name of the pod below that of the headless service that subdomain names."},
		{At: &s.Subdomain, Name: "subdomain", Means: "The headless service below whose name the pod is found by its hostname, as the pods of a StatefulSet are."},
		{At: &s.Workload, Name: "workload", Means: "The workload that the pod belongs to in the Kubernetes API and in exports: Deployment, ReplicaSet, StatefulSet, DaemonSet or Job, with a slash and its name if that is not the block's."},
		{At: &s.DNSPolicy, Name: "dns_policy", Default: `"ClusterFirst"`, Means: "How the pod looks up names: ClusterFirst or ClusterFirstWithHostNet with the name servers of the cluster, the former only if it does not use its node's network; Default as its node does, which knows no names of the cluster; None as dns_config says."},
	}), l.programAttributes(s)...)}
}

func portBlock(of string) blocks.Nested {
	return blocks.Labeled("port", "A port on which the "+of+" answers.", func() blocks.Schema { return portTable(of, new(topology.PortSpec)) })
}

func linkBlock(of string) blocks.Nested {
	return blocks.Plain("link", "The quality of the link on which the "+of+" sends.", func() blocks.Schema { return linkTable(new(topology.LinkSpec)) })
}

// portTable is a port on which a pod or client answers.
func portTable(of string, s *topology.PortSpec) blocks.Schema {
	t := blocks.Schema{Kind: "port", Attrs: []blocks.Attribute{
		{At: &s.Port, Name: "port", Means: "The number of the port."},
		{At: &s.Protocol, Name: "protocol", Default: `"tcp"`, Means: "The protocol: tcp, udp or sctp."},
	}}
	if of == "pod" {
		t.Attrs = append(t.Attrs, blocks.Attribute{At: &s.HostPort, Name: "host_port", Means: "The port of its node that leads to the port, as docker run -p and the CNI plugin portmap have it."})
	}
	return t
}

// linkTable shapes the packets that an object sends.
func linkTable(s *topology.LinkSpec) blocks.Schema {
	return blocks.Schema{Kind: "link", Attrs: []blocks.Attribute{
		{At: &s.Delay, Name: "delay", Means: "The delay added to each packet."},
		{At: &s.Jitter, Name: "jitter", Means: "How much the delay varies."},
		{At: &s.Loss, Name: "loss", Means: "The share of packets that are lost."},
		{At: &s.Rate, Name: "rate", Means: "The maximum rate."},
		{At: &s.MTU, Name: "mtu", Means: "The MTU of the link, in bytes."},
	}}
}
