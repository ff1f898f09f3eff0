package language

import "github.com/hashicorp/hcl/v2"

// What the blocks of nodes, clients, namespaces and pods may hold.

// nodeBody is a node of the cluster.
type nodeBody struct {
	content
	labels, zone, address, routes *hcl.Attribute
}

func (b *nodeBody) schema() schema {
	return schema{
		kind: "node",
		attrs: []attribute{
			{at: &b.labels, name: "labels", holds: aMap, means: "Labels of the object, which selectors match."},
			{at: &b.zone, name: "zone", holds: aString, means: "The zone of the node; by default its label topology.kubernetes.io/zone."},
			{at: &b.address, name: "address", holds: anAddress, means: "The address of the node on the underlay; netlab chooses one if it is not set."},
			{at: &b.routes, name: "routes", holds: someRoutes, means: "Additional routes, each a prefix with a node, client or address as next hop."},
		},
		blocks: named(false, "link"),
	}
}

// clientBody is a host outside the cluster.
type clientBody struct {
	content
	address, routes, gateway *hcl.Attribute
}

func (b *clientBody) schema() schema {
	return schema{
		kind: "client",
		attrs: []attribute{
			{at: &b.address, name: "address", holds: anAddress, means: "The address of the client; netlab chooses one if it is not set."},
			{at: &b.routes, name: "routes", holds: someRoutes, means: "Additional routes, each a prefix with a node, client or address as next hop."},
			{at: &b.gateway, name: "gateway", holds: anAddress, means: "The default gateway."},
		},
		blocks: append(named(true, "port"), named(false, "link")...),
	}
}

// namespaceBody is a Kubernetes namespace.
type namespaceBody struct {
	content
	labels *hcl.Attribute
}

func (b *namespaceBody) schema() schema {
	return schema{
		kind: "namespace",
		attrs: []attribute{
			{at: &b.labels, name: "labels", holds: aMap, means: "Labels of the object, which selectors match."},
		},
	}
}

// podBody is a pod, or several of them.
type podBody struct {
	content
	node, namespace, labels, count, forEach, address, hostNetwork, ready, terminating, command, env *hcl.Attribute
}

func (b *podBody) schema() schema {
	return schema{
		kind: "pod",
		attrs: []attribute{
			{at: &b.node, name: "node", holds: aNode, means: "The node that the pod runs on; the nodes take turns if it is not set."},
			{at: &b.namespace, name: "namespace", holds: aNamespace, def: `"default"`, means: "The namespace of the pod."},
			{at: &b.labels, name: "labels", holds: aMap, means: "Labels of the object, which selectors match."},
			{at: &b.count, name: "count", holds: aNumber, means: "How many instances there are, each with count.index."},
			{at: &b.forEach, name: "for_each", holds: anExpression, means: "A map or a set of strings, with an instance for each element."},
			{at: &b.address, name: "address", holds: anAddress, means: "The address of the pod; netlab chooses one if it is not set."},
			{at: &b.hostNetwork, name: "host_network", holds: aBool, def: `false`, means: "Whether the pod uses the network namespace of its node."},
			{at: &b.ready, name: "ready", holds: aBool, def: `true`, means: "Whether the pod is ready for connections to services."},
			{at: &b.terminating, name: "terminating", holds: aBool, def: `false`, means: "Whether the pod is being deleted."},
			{at: &b.command, name: "command", holds: aList, means: "A program that runs in the pod, instead of the agent that answers on its ports."},
			{at: &b.env, name: "env", holds: aMap, means: "Environment variables of the command."},
			{name: "host_port", holds: anything},
			{name: "dns", holds: anything},
		},
		blocks: append(named(true, "port"), named(false, "link")...),
	}
}

// portBody is a port on which a pod or client answers.
type portBody struct {
	content
	port, protocol *hcl.Attribute
}

func (b *portBody) schema() schema {
	return schema{
		kind: "port",
		attrs: []attribute{
			{at: &b.port, name: "port", holds: aNumber, means: "The number of the port."},
			{at: &b.protocol, name: "protocol", holds: aString, def: `"tcp"`, means: "The protocol: tcp, udp or sctp."},
			{name: "host_port", holds: anything},
		},
	}
}

// linkBody shapes the packets that an object sends.
type linkBody struct {
	content
	delay, jitter, loss, rate, mtu *hcl.Attribute
}

func (b *linkBody) schema() schema {
	return schema{
		kind: "link",
		attrs: []attribute{
			{at: &b.delay, name: "delay", holds: aTime, means: "The delay added to each packet."},
			{at: &b.jitter, name: "jitter", holds: aTime, means: "How much the delay varies."},
			{at: &b.loss, name: "loss", holds: aShare, means: "The share of packets that are lost."},
			{at: &b.rate, name: "rate", holds: aRate, means: "The maximum rate."},
			{at: &b.mtu, name: "mtu", holds: aNumber, means: "The MTU of the link, in bytes."},
		},
	}
}
