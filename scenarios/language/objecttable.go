package language

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
)

// What the blocks of nodes, clients, namespaces and pods may hold.

// nodeBody is a node of the cluster.
type nodeBody struct {
	blocks.Content
	labels, zone, address, routes *hcl.Attribute
}

func (b *nodeBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "node",
		Attrs: []blocks.Attribute{
			{At: &b.labels, Name: "labels", Holds: blocks.AMap, Means: "Labels of the object, which selectors match."},
			{At: &b.zone, Name: "zone", Holds: blocks.AString, Means: "The zone of the node; by default its label topology.kubernetes.io/zone."},
			{At: &b.address, Name: "address", Holds: blocks.AnAddress, Means: "The address of the node on the underlay; netlab chooses one if it is not set."},
			{At: &b.routes, Name: "routes", Holds: blocks.SomeRoutes, Means: "Additional routes, each a prefix with a node, client or address as next hop."},
		},
		Blocks: blocks.Named(false, "link"),
	}
}

// clientBody is a host outside the cluster.
type clientBody struct {
	blocks.Content
	address, routes, gateway *hcl.Attribute
}

func (b *clientBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "client",
		Attrs: []blocks.Attribute{
			{At: &b.address, Name: "address", Holds: blocks.AnAddress, Means: "The address of the client; netlab chooses one if it is not set."},
			{At: &b.routes, Name: "routes", Holds: blocks.SomeRoutes, Means: "Additional routes, each a prefix with a node, client or address as next hop."},
			{At: &b.gateway, Name: "gateway", Holds: blocks.AnAddress, Means: "The default gateway."},
		},
		Blocks: append(blocks.Named(true, "port"), blocks.Named(false, "link")...),
	}
}

// namespaceBody is a Kubernetes namespace.
type namespaceBody struct {
	blocks.Content
	labels *hcl.Attribute
}

func (b *namespaceBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "namespace",
		Attrs: []blocks.Attribute{
			{At: &b.labels, Name: "labels", Holds: blocks.AMap, Means: "Labels of the object, which selectors match."},
		},
	}
}

// podBody is a pod, or several of them.
type podBody struct {
	blocks.Content
	node, namespace, labels, count, forEach, address, hostNetwork, ready, terminating, command, env *hcl.Attribute
}

func (b *podBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "pod",
		Attrs: []blocks.Attribute{
			{At: &b.node, Name: "node", Holds: blocks.ANode, Means: "The node that the pod runs on; the nodes take turns if it is not set."},
			{At: &b.namespace, Name: "namespace", Holds: blocks.ANamespace, Default: `"default"`, Means: "The namespace of the pod."},
			{At: &b.labels, Name: "labels", Holds: blocks.AMap, Means: "Labels of the object, which selectors match."},
			{At: &b.count, Name: "count", Holds: blocks.ANumber, Means: "How many instances there are, each with count.index."},
			{At: &b.forEach, Name: "for_each", Holds: blocks.AnExpression, Means: "A map or a set of strings, with an instance for each element."},
			{At: &b.address, Name: "address", Holds: blocks.AnAddress, Means: "The address of the pod; netlab chooses one if it is not set."},
			{At: &b.hostNetwork, Name: "host_network", Holds: blocks.ABool, Default: `false`, Means: "Whether the pod uses the network namespace of its node."},
			{At: &b.ready, Name: "ready", Holds: blocks.ABool, Default: `true`, Means: "Whether the pod is ready for connections to services."},
			{At: &b.terminating, Name: "terminating", Holds: blocks.ABool, Default: `false`, Means: "Whether the pod is being deleted."},
			{At: &b.command, Name: "command", Holds: blocks.AList, Means: "A program that runs in the pod, instead of the agent that answers on its ports."},
			{At: &b.env, Name: "env", Holds: blocks.AMap, Means: "Environment variables of the command."},
			{Name: "host_port", Holds: blocks.Anything},
			{Name: "dns", Holds: blocks.Anything},
		},
		Blocks: append(blocks.Named(true, "port"), blocks.Named(false, "link")...),
	}
}

// portBody is a port on which a pod or client answers.
type portBody struct {
	blocks.Content
	port, protocol *hcl.Attribute
}

func (b *portBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "port",
		Attrs: []blocks.Attribute{
			{At: &b.port, Name: "port", Holds: blocks.ANumber, Means: "The number of the port."},
			{At: &b.protocol, Name: "protocol", Holds: blocks.AString, Default: `"tcp"`, Means: "The protocol: tcp, udp or sctp."},
			{Name: "host_port", Holds: blocks.Anything},
		},
	}
}

// linkBody shapes the packets that an object sends.
type linkBody struct {
	blocks.Content
	delay, jitter, loss, rate, mtu *hcl.Attribute
}

func (b *linkBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "link",
		Attrs: []blocks.Attribute{
			{At: &b.delay, Name: "delay", Holds: blocks.ATime, Means: "The delay added to each packet."},
			{At: &b.jitter, Name: "jitter", Holds: blocks.ATime, Means: "How much the delay varies."},
			{At: &b.loss, Name: "loss", Holds: blocks.AShare, Means: "The share of packets that are lost."},
			{At: &b.rate, Name: "rate", Holds: blocks.ARate, Means: "The maximum rate."},
			{At: &b.mtu, Name: "mtu", Holds: blocks.ANumber, Means: "The MTU of the link, in bytes."},
		},
	}
}
