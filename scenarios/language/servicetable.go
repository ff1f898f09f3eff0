package language

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
)

// What the blocks of services may hold.

// serviceBody is a Kubernetes service.
type serviceBody struct {
	blocks.Content
	namespace, typ, selector, labels, clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy, externalIPs, loadBalancerIP, loadBalancerSourceRanges, healthCheckNodePort, externalName, externalTrafficPolicy, internalTrafficPolicy, sessionAffinity, trafficDistribution, publishNotReadyAddresses *hcl.Attribute
}

func (b *serviceBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "service",
		Attrs: []blocks.Attribute{
			{At: &b.namespace, Name: "namespace", Holds: blocks.ANamespace, Default: `"default"`, Means: "The namespace of the service."},
			{At: &b.typ, Name: "type", Holds: blocks.AString, Default: `"ClusterIP"`, Means: "The type: ClusterIP, NodePort, LoadBalancer or ExternalName."},
			{At: &b.selector, Name: "selector", Holds: blocks.AMap, Means: "The labels of the pods that are its endpoints."},
			{At: &b.labels, Name: "labels", Holds: blocks.AMap, Means: "Labels of the object, which selectors match."},
			{At: &b.clusterIP, Name: "cluster_ip", Holds: blocks.AString, Means: "The cluster IP, or None for a headless service; netlab chooses one if it is not set."},
			{At: &b.clusterIPs, Name: "cluster_ips", Holds: blocks.AList, Means: "The cluster IPs, one per IP family."},
			{At: &b.ipFamilies, Name: "ip_families", Holds: blocks.AList, Means: "The IP families of the service; a single-stack service uses the first."},
			{At: &b.ipFamilyPolicy, Name: "ip_family_policy", Holds: blocks.AString, Means: "How many IP families the service has: SingleStack, PreferDualStack or RequireDualStack."},
			{At: &b.externalIPs, Name: "external_ips", Holds: blocks.SomeAddresses, Means: "Addresses on which nodes accept connections to the service."},
			{At: &b.loadBalancerIP, Name: "load_balancer_ip", Holds: blocks.SomeAddresses, Means: "The address of its load balancer; netlab chooses one if it is not set."},
			{At: &b.loadBalancerSourceRanges, Name: "load_balancer_source_ranges", Holds: blocks.AList, Means: "The clients that the load balancer serves, all if none is given."},
			{At: &b.healthCheckNodePort, Name: "health_check_node_port", Holds: blocks.ANumber, Means: "The port on which nodes tell the load balancer whether they have an endpoint."},
			{At: &b.externalName, Name: "external_name", Holds: blocks.AString, Means: "The name that a service of type ExternalName stands for."},
			{At: &b.externalTrafficPolicy, Name: "external_traffic_policy", Holds: blocks.AString, Default: `"Cluster"`, Means: "Whether nodes send connections from outside to endpoints of all nodes (Cluster) or of their own (Local)."},
			{At: &b.internalTrafficPolicy, Name: "internal_traffic_policy", Holds: blocks.AString, Default: `"Cluster"`, Means: "The same for connections from inside the cluster."},
			{At: &b.sessionAffinity, Name: "session_affinity", Holds: blocks.AString, Default: `"None"`, Means: "Whether a client stays with one endpoint: None or ClientIP."},
			{At: &b.trafficDistribution, Name: "traffic_distribution", Holds: blocks.AString, Means: "Which endpoints are preferred: PreferSameZone, PreferSameNode or PreferClose."},
			{At: &b.publishNotReadyAddresses, Name: "publish_not_ready_addresses", Holds: blocks.ABool, Default: `false`, Means: "Whether endpoints that are not ready count as ready."},
		},
		Blocks: append(blocks.Named(true, "port"), blocks.Named(false, "selector", "load_balancer", "session_affinity", "endpoint")...),
	}
}

// loadBalancerBody is the load balancer of a service.
type loadBalancerBody struct {
	blocks.Content
	via, ip, ips, ipMode *hcl.Attribute
}

func (b *loadBalancerBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "load_balancer block",
		Attrs: []blocks.Attribute{
			{At: &b.via, Name: "via", Holds: blocks.SomeNodes, Means: "The nodes that the load balancer forwards to, all if none is given."},
			{At: &b.ip, Name: "ip", Holds: blocks.SomeAddresses, Means: "The address of the load balancer."},
			{At: &b.ips, Name: "ips", Holds: blocks.SomeAddresses, Means: "The addresses of the load balancer, one per IP family."},
			{At: &b.ipMode, Name: "ip_mode", Holds: blocks.AString, Default: `"VIP"`, Means: "Whether nodes handle the address themselves (VIP) or leave it to the load balancer (Proxy)."},
		},
	}
}

// sessionAffinityBody is the options of session affinity.
type sessionAffinityBody struct {
	blocks.Content
	timeout *hcl.Attribute
}

func (b *sessionAffinityBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "session_affinity block",
		Attrs: []blocks.Attribute{
			{At: &b.timeout, Name: "timeout", Holds: blocks.ATime, Default: `10800`, Means: "How long a client without connections is remembered."},
		},
	}
}

// endpointBody is an endpoint of a service without selector.
type endpointBody struct {
	blocks.Content
	address, pod, node, port, portName, ready, serving, terminating, weight *hcl.Attribute
}

func (b *endpointBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "endpoint",
		Attrs: []blocks.Attribute{
			{At: &b.address, Name: "address", Holds: blocks.AnAddress, Means: "The address of the endpoint."},
			{At: &b.pod, Name: "pod", Holds: blocks.APod, Means: "The pod that is the endpoint, instead of an address."},
			{At: &b.node, Name: "node", Holds: blocks.ANode, Means: "The node of an address that is not a pod's."},
			{At: &b.port, Name: "port", Holds: blocks.ANumber, Means: "The port; by default the target port of the service."},
			{At: &b.portName, Name: "port_name", Holds: blocks.AString, Means: "The port of the service that it serves, all if none is given."},
			{At: &b.ready, Name: "ready", Holds: blocks.ABool, Means: "Whether it is ready; by default as its pod."},
			{At: &b.serving, Name: "serving", Holds: blocks.ABool, Means: "Whether it answers though it is terminating."},
			{At: &b.terminating, Name: "terminating", Holds: blocks.ABool, Means: "Whether it is being deleted."},
			{At: &b.weight, Name: "weight", Holds: blocks.ANumber, Default: `1`, Means: "Its weight, for IPVS schedulers that use weights."},
		},
		Blocks: blocks.Named(false, "hints"),
	}
}

// hintsBody says which clients should use an endpoint.
type hintsBody struct {
	blocks.Content
	zones, nodes *hcl.Attribute
}

func (b *hintsBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "hints block",
		Attrs: []blocks.Attribute{
			{At: &b.zones, Name: "zones", Holds: blocks.AList, Means: "The zones whose nodes should use the endpoint."},
			{At: &b.nodes, Name: "nodes", Holds: blocks.SomeNodes, Means: "The nodes that should use the endpoint."},
		},
	}
}

// serviceSelectorBody is the selector of a service, written as a block.
type serviceSelectorBody struct {
	blocks.Content
	matchLabels *hcl.Attribute
}

func (b *serviceSelectorBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "selector of a service",
		Attrs: []blocks.Attribute{
			{At: &b.matchLabels, Name: "match_labels", Holds: blocks.AMap, Means: "The labels of the pods that are its endpoints."},
		},
	}
}

// servicePortBody is a port of a service.
type servicePortBody struct {
	blocks.Content
	port, targetPort, nodePort, protocol *hcl.Attribute
}

func (b *servicePortBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "service port",
		Attrs: []blocks.Attribute{
			{At: &b.port, Name: "port", Holds: blocks.ANumber, Means: "The port of the service."},
			{At: &b.targetPort, Name: "target_port", Holds: blocks.APort, Means: "The port of the endpoints; by default the same."},
			{At: &b.nodePort, Name: "node_port", Holds: blocks.ANumber, Means: "The port of the nodes; netlab chooses one if it is not set."},
			{At: &b.protocol, Name: "protocol", Holds: blocks.AString, Default: `"tcp"`, Means: "The protocol: tcp, udp or sctp."},
			{Name: "app_protocol", Holds: blocks.Anything},
		},
	}
}
