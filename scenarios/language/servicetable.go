package language

import "github.com/hashicorp/hcl/v2"

// What the blocks of services may hold.

// serviceBody is a Kubernetes service.
type serviceBody struct {
	content
	namespace, typ, selector, labels, clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy, externalIPs, loadBalancerIP, loadBalancerSourceRanges, healthCheckNodePort, externalName, externalTrafficPolicy, internalTrafficPolicy, sessionAffinity, trafficDistribution, publishNotReadyAddresses *hcl.Attribute
}

func (b *serviceBody) schema() schema {
	return schema{
		kind: "service",
		attrs: []attribute{
			{at: &b.namespace, name: "namespace", holds: aNamespace, def: `"default"`, means: "The namespace of the service."},
			{at: &b.typ, name: "type", holds: aString, def: `"ClusterIP"`, means: "The type: ClusterIP, NodePort, LoadBalancer or ExternalName."},
			{at: &b.selector, name: "selector", holds: aMap, means: "The labels of the pods that are its endpoints."},
			{at: &b.labels, name: "labels", holds: aMap, means: "Labels of the object, which selectors match."},
			{at: &b.clusterIP, name: "cluster_ip", holds: aString, means: "The cluster IP, or None for a headless service; netlab chooses one if it is not set."},
			{at: &b.clusterIPs, name: "cluster_ips", holds: aList, means: "The cluster IPs, one per IP family."},
			{at: &b.ipFamilies, name: "ip_families", holds: aList, means: "The IP families of the service; a single-stack service uses the first."},
			{at: &b.ipFamilyPolicy, name: "ip_family_policy", holds: aString, means: "How many IP families the service has: SingleStack, PreferDualStack or RequireDualStack."},
			{at: &b.externalIPs, name: "external_ips", holds: someAddresses, means: "Addresses on which nodes accept connections to the service."},
			{at: &b.loadBalancerIP, name: "load_balancer_ip", holds: someAddresses, means: "The address of its load balancer; netlab chooses one if it is not set."},
			{at: &b.loadBalancerSourceRanges, name: "load_balancer_source_ranges", holds: aList, means: "The clients that the load balancer serves, all if none is given."},
			{at: &b.healthCheckNodePort, name: "health_check_node_port", holds: aNumber, means: "The port on which nodes tell the load balancer whether they have an endpoint."},
			{at: &b.externalName, name: "external_name", holds: aString, means: "The name that a service of type ExternalName stands for."},
			{at: &b.externalTrafficPolicy, name: "external_traffic_policy", holds: aString, def: `"Cluster"`, means: "Whether nodes send connections from outside to endpoints of all nodes (Cluster) or of their own (Local)."},
			{at: &b.internalTrafficPolicy, name: "internal_traffic_policy", holds: aString, def: `"Cluster"`, means: "The same for connections from inside the cluster."},
			{at: &b.sessionAffinity, name: "session_affinity", holds: aString, def: `"None"`, means: "Whether a client stays with one endpoint: None or ClientIP."},
			{at: &b.trafficDistribution, name: "traffic_distribution", holds: aString, means: "Which endpoints are preferred: PreferSameZone, PreferSameNode or PreferClose."},
			{at: &b.publishNotReadyAddresses, name: "publish_not_ready_addresses", holds: aBool, def: `false`, means: "Whether endpoints that are not ready count as ready."},
		},
		blocks: append(named(true, "port"), named(false, "selector", "load_balancer", "session_affinity", "endpoint")...),
	}
}

// loadBalancerBody is the load balancer of a service.
type loadBalancerBody struct {
	content
	via, ip, ips, ipMode *hcl.Attribute
}

func (b *loadBalancerBody) schema() schema {
	return schema{
		kind: "load_balancer block",
		attrs: []attribute{
			{at: &b.via, name: "via", holds: someNodes, means: "The nodes that the load balancer forwards to, all if none is given."},
			{at: &b.ip, name: "ip", holds: someAddresses, means: "The address of the load balancer."},
			{at: &b.ips, name: "ips", holds: someAddresses, means: "The addresses of the load balancer, one per IP family."},
			{at: &b.ipMode, name: "ip_mode", holds: aString, def: `"VIP"`, means: "Whether nodes handle the address themselves (VIP) or leave it to the load balancer (Proxy)."},
		},
	}
}

// sessionAffinityBody is the options of session affinity.
type sessionAffinityBody struct {
	content
	timeout *hcl.Attribute
}

func (b *sessionAffinityBody) schema() schema {
	return schema{
		kind: "session_affinity block",
		attrs: []attribute{
			{at: &b.timeout, name: "timeout", holds: aTime, def: `10800`, means: "How long a client without connections is remembered."},
		},
	}
}

// endpointBody is an endpoint of a service without selector.
type endpointBody struct {
	content
	address, pod, node, port, portName, ready, serving, terminating, weight *hcl.Attribute
}

func (b *endpointBody) schema() schema {
	return schema{
		kind: "endpoint",
		attrs: []attribute{
			{at: &b.address, name: "address", holds: anAddress, means: "The address of the endpoint."},
			{at: &b.pod, name: "pod", holds: aPod, means: "The pod that is the endpoint, instead of an address."},
			{at: &b.node, name: "node", holds: aNode, means: "The node of an address that is not a pod's."},
			{at: &b.port, name: "port", holds: aNumber, means: "The port; by default the target port of the service."},
			{at: &b.portName, name: "port_name", holds: aString, means: "The port of the service that it serves, all if none is given."},
			{at: &b.ready, name: "ready", holds: aBool, means: "Whether it is ready; by default as its pod."},
			{at: &b.serving, name: "serving", holds: aBool, means: "Whether it answers though it is terminating."},
			{at: &b.terminating, name: "terminating", holds: aBool, means: "Whether it is being deleted."},
			{at: &b.weight, name: "weight", holds: aNumber, def: `1`, means: "Its weight, for IPVS schedulers that use weights."},
		},
		blocks: named(false, "hints"),
	}
}

// hintsBody says which clients should use an endpoint.
type hintsBody struct {
	content
	zones, nodes *hcl.Attribute
}

func (b *hintsBody) schema() schema {
	return schema{
		kind: "hints block",
		attrs: []attribute{
			{at: &b.zones, name: "zones", holds: aList, means: "The zones whose nodes should use the endpoint."},
			{at: &b.nodes, name: "nodes", holds: someNodes, means: "The nodes that should use the endpoint."},
		},
	}
}

// serviceSelectorBody is the selector of a service, written as a block.
type serviceSelectorBody struct {
	content
	matchLabels *hcl.Attribute
}

func (b *serviceSelectorBody) schema() schema {
	return schema{
		kind: "selector of a service",
		attrs: []attribute{
			{at: &b.matchLabels, name: "match_labels", holds: aMap, means: "The labels of the pods that are its endpoints."},
		},
	}
}

// servicePortBody is a port of a service.
type servicePortBody struct {
	content
	port, targetPort, nodePort, protocol *hcl.Attribute
}

func (b *servicePortBody) schema() schema {
	return schema{
		kind: "service port",
		attrs: []attribute{
			{at: &b.port, name: "port", holds: aNumber, means: "The port of the service."},
			{at: &b.targetPort, name: "target_port", holds: aPort, means: "The port of the endpoints; by default the same."},
			{at: &b.nodePort, name: "node_port", holds: aNumber, means: "The port of the nodes; netlab chooses one if it is not set."},
			{at: &b.protocol, name: "protocol", holds: aString, def: `"tcp"`, means: "The protocol: tcp, udp or sctp."},
			{name: "app_protocol", holds: anything},
		},
	}
}
