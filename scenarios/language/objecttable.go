package language

import (
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// What the blocks of nodes, clients, namespaces and pods may hold.

// object is the attributes of every block that makes objects, before those of its own.
func object(name blocks.Value, own []blocks.Attribute) []blocks.Attribute {
	return append([]blocks.Attribute{
		{At: name, Name: "name", Means: "The name, by default the label of the block, with the key of an instance after a hyphen."},
		{At: blocks.Repeats("number"), Name: "count", Means: "How many instances there are, each with count.index."},
		{At: blocks.Repeats("map, or set of strings"), Name: "for_each", Means: "A map or a set of strings, with an instance for each element, which is each.key and each.value."},
	}, own...)
}

// nodeTable is a node of the cluster.
func (l *loader) nodeTable(s *topology.NodeSpec) blocks.Schema {
	return blocks.Schema{Kind: "node", Blocks: []blocks.Nested{linkBlock("node")}, Attrs: object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
		{At: &s.Zone, Name: "zone", Means: "The zone of the node; by default its label topology.kubernetes.io/zone."},
		{At: &s.Address, Name: "address", Means: "The address of the node on the underlay; netlab chooses one if it is not set."},
		{At: l.later(&s.Routes), Name: "routes", Means: "Additional routes, each a prefix with a node, client or address as next hop."},
	})}
}

// clientTable is a host outside the cluster.
func (l *loader) clientTable(s *topology.ClientSpec) blocks.Schema {
	return blocks.Schema{Kind: "client", Blocks: []blocks.Nested{portBlock("client"), linkBlock("client")}, Attrs: object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: &s.Address, Name: "address", Means: "The address of the client; netlab chooses one if it is not set."},
		{At: l.later(&s.Routes), Name: "routes", Means: "Additional routes, each a prefix with a node, client or address as next hop."},
		{At: l.later(&s.Gateway), Name: "gateway", Means: "The default gateway."},
	})}
}

// namespaceTable is a Kubernetes namespace.
func namespaceTable(s *topology.NamespaceSpec) blocks.Schema {
	return blocks.Schema{Kind: "namespace", Attrs: object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
	})}
}

// podTable is a pod, or several of them.
func (l *loader) podTable(s *topology.PodSpec) blocks.Schema {
	return blocks.Schema{Kind: "pod", Blocks: append(l.programBlocks(), portBlock("pod"), linkBlock("pod")), Attrs: append(object(blocks.Noted(&s.Named, "string", (*blocks.Reader).Text), []blocks.Attribute{
		{At: blocks.NameOf("node", &s.Node), Name: "node", Means: "The node that the pod runs on; the nodes take turns if it is not set."},
		{At: blocks.NameOf("namespace", &s.Namespace), Name: "namespace", Default: `"default"`, Means: "The namespace of the pod."},
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
		{At: &s.Address, Name: "address", Means: "The address of the pod; netlab chooses one if it is not set."},
		{At: &s.HostNetwork, Name: "host_network", Default: `false`, Means: "Whether the pod uses the network namespace of its node."},
		{At: &s.Ready, Name: "ready", Default: `true`, Means: "Whether the pod is ready for connections to services."},
		{At: &s.Terminating, Name: "terminating", Default: `false`, Means: "Whether the pod is being deleted."},
		{Name: "host_port"},
		{Name: "dns"},
	}), l.programAttributes(s)...)}
}

func portBlock(of string) blocks.Nested {
	return blocks.Labeled("port", "A port on which the "+of+" answers.", func() blocks.Schema { return portTable(new(topology.PortSpec)) })
}

func linkBlock(of string) blocks.Nested {
	return blocks.Plain("link", "The quality of the link on which the "+of+" sends.", func() blocks.Schema { return linkTable(new(topology.LinkSpec)) })
}

// portTable is a port on which a pod or client answers.
func portTable(s *topology.PortSpec) blocks.Schema {
	return blocks.Schema{Kind: "port", Attrs: []blocks.Attribute{
		{At: &s.Port, Name: "port", Means: "The number of the port."},
		{At: &s.Protocol, Name: "protocol", Default: `"tcp"`, Means: "The protocol: tcp, udp or sctp."},
		{Name: "host_port"},
	}}
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
