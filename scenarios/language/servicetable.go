package language

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// What the blocks of services may hold.

// serviceTable is a Kubernetes service.
func serviceTable(s *topology.ServiceSpec) blocks.Schema {
	return blocks.Schema{Kind: "service", Blocks: []blocks.Nested{
		blocks.Labeled("port", "A port of the service.", func() blocks.Schema { return servicePortTable(new(topology.ServicePortSpec)) }),
		blocks.Plain("selector", "The pods that are its endpoints.", func() blocks.Schema { return serviceSelectorTable(s) }),
		blocks.Plain("load_balancer", "The load balancer of a service of type LoadBalancer.", func() blocks.Schema { return loadBalancerTable(s, new(*hcl.Attribute), new(*hcl.Attribute)) }),
		blocks.Plain("session_affinity", "Connections of a client go to one endpoint.", func() blocks.Schema { return sessionAffinityTable(s) }),
		blocks.Plain("endpoint", "An endpoint that is written out, of a service without selector.", func() blocks.Schema { return endpointTable(new(topology.EndpointSpec)) }),
	}, Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: blocks.NameOf("namespace", &s.Namespace), Name: "namespace", Default: `"default"`, Means: "The namespace of the service."},
		{At: &s.Type, Name: "type", Default: `"ClusterIP"`, Means: "The type: ClusterIP, NodePort, LoadBalancer or ExternalName."},
		{At: &s.Selector, Name: "selector", Means: "The labels of the pods that are its endpoints."},
		{At: &s.Labels, Name: "labels", Means: "Labels of the object, which selectors match."},
		{At: &s.ClusterIP, Name: "cluster_ip", Means: "The cluster IP, or None for a headless service; netlab chooses one if it is not set."},
		{At: &s.ClusterIPs, Name: "cluster_ips", Means: "The cluster IPs, one per IP family."},
		{At: &s.IPFamilies, Name: "ip_families", Means: "The IP families of the service; a single-stack service uses the first."},
		{At: &s.IPFamilyPolicy, Name: "ip_family_policy", Means: "How many IP families the service has: SingleStack, PreferDualStack or RequireDualStack."},
		{At: &s.ExternalIPs, Name: "external_ips", Means: "Addresses on which nodes accept connections to the service."},
		{At: &s.LoadBalancerIPs, Name: "load_balancer_ip", Means: "The address of its load balancer; netlab chooses one if it is not set."},
		{At: &s.SourceRanges, Name: "load_balancer_source_ranges", Means: "The clients that the load balancer serves, all if none is given."},
		{At: &s.HealthCheckNodePort, Name: "health_check_node_port", Means: "The port on which nodes tell the load balancer whether they have an endpoint."},
		{At: &s.ExternalName, Name: "external_name", Means: "The name that a service of type ExternalName stands for."},
		{At: &s.ExternalTrafficPolicy, Name: "external_traffic_policy", Default: `"Cluster"`, Means: "Whether nodes send connections from outside to endpoints of all nodes (Cluster) or of their own (Local)."},
		{At: &s.InternalTrafficPolicy, Name: "internal_traffic_policy", Default: `"Cluster"`, Means: "The same for connections from inside the cluster."},
		{At: &s.SessionAffinity, Name: "session_affinity", Default: `"None"`, Means: "Whether a client stays with one endpoint: None or ClientIP."},
		{At: &s.TrafficDistribution, Name: "traffic_distribution", Means: "Which endpoints are preferred: PreferSameZone, PreferSameNode or PreferClose."},
		{At: &s.PublishNotReadyAddresses, Name: "publish_not_ready_addresses", Default: `false`, Means: "Whether endpoints that are not ready count as ready."},
	})}
}

// loadBalancerTable is the load balancer of a service.
func loadBalancerTable(s *topology.ServiceSpec, ip, ips **hcl.Attribute) blocks.Schema {
	return blocks.Schema{Kind: "load_balancer block", Blocks: []blocks.Nested{
		blocks.Plain("check", "How the load balancer finds the nodes that get connections: it connects to the node port of each, and after a change of the lab one check that succeeds is enough.", func() blocks.Schema { return checkTable(new(topology.CheckSpec)) }),
	}, Attrs: []blocks.Attribute{
		{At: blocks.NameOf("client", &s.LoadBalancerOn), Name: "on", Means: "The client that is the load balancer: it accepts connections at its address and makes others, as its own, to node ports (ip_mode Proxy)."},
		{At: blocks.NamesOf("node", &s.LoadBalancerVia), Name: "via", Means: "The nodes that the load balancer forwards to, all if none is given."},
		{At: blocks.AsWritten(ip, "IP address"), Name: "ip", Means: "The address of the load balancer."},
		{At: blocks.AsWritten(ips, "list of IP addresses"), Name: "ips", Means: "The addresses of the load balancer, one per IP family."},
		{At: &s.LoadBalancerMode, Name: "ip_mode", Default: `"VIP"`, Means: "Whether nodes handle the address themselves (VIP) or leave it to the load balancer (Proxy)."},
	}}
}

// checkTable is how a load balancer checks nodes. The words are those of AWS.
func checkTable(s *topology.CheckSpec) blocks.Schema {
	return blocks.Schema{Kind: "check block", Attrs: []blocks.Attribute{
		{At: &s.Interval, Name: "interval", Default: `"1s"`, Means: "How long after a check the next one begins."},
		{At: &s.Timeout, Name: "timeout", Default: `"500ms"`, Means: "How long a node may take to accept the connection."},
		{At: &s.Healthy, Name: "healthy_threshold", Default: `2`, Means: "How many checks in a row must succeed until a node gets connections again."},
		{At: &s.Unhealthy, Name: "unhealthy_threshold", Default: `2`, Means: "How many checks in a row must fail until a node gets no more."},
	}}
}

// sessionAffinityTable is the options of session affinity.
func sessionAffinityTable(s *topology.ServiceSpec) blocks.Schema {
	return blocks.Schema{Kind: "session_affinity block", Attrs: []blocks.Attribute{
		{At: blocks.As(&s.AffinitySeconds, "seconds, or duration", (*blocks.Reader).Seconds), Name: "timeout", Default: `10800`, Means: "How long a client without connections is remembered."},
	}}
}

// endpointTable is an endpoint of a service without selector.
func endpointTable(s *topology.EndpointSpec) blocks.Schema {
	return blocks.Schema{Kind: "endpoint", Blocks: []blocks.Nested{
		blocks.Plain("hints", "Who should use the endpoint.", func() blocks.Schema { return hintsTable(s) }),
	}, Attrs: []blocks.Attribute{
		{At: blocks.Noted(&s.Address, "IP address", (*blocks.Reader).Address), Name: "address", Means: "The address of the endpoint."},
		{At: blocks.Noted(&s.Pod, "pod", (*blocks.Reader).PodName), Name: "pod", Means: "The pod that is the endpoint, instead of an address."},
		{At: blocks.NameOf("node", &s.Node), Name: "node", Means: "The node of an address that is not a pod's."},
		{At: &s.Hostname, Name: "hostname", Means: "The name of the endpoint below that of a headless service; by default as its pod, or one that follows from the address."},
		{At: &s.Port, Name: "port", Means: "The port; by default the target port of the service."},
		{At: &s.PortName, Name: "port_name", Means: "The port of the service that it serves, all if none is given."},
		{At: &s.Ready, Name: "ready", Means: "Whether it is ready; by default as its pod."},
		{At: &s.Serving, Name: "serving", Means: "Whether it answers though it is terminating."},
		{At: &s.Terminating, Name: "terminating", Means: "Whether it is being deleted."},
		{At: &s.Weight, Name: "weight", Default: `1`, Means: "Its weight, for IPVS schedulers that use weights."},
	}}
}

// hintsTable says which clients should use an endpoint.
func hintsTable(s *topology.EndpointSpec) blocks.Schema {
	return blocks.Schema{Kind: "hints block", Attrs: []blocks.Attribute{
		{At: &s.ForZones, Name: "zones", Means: "The zones whose nodes should use the endpoint."},
		{At: blocks.NamesOf("node", &s.ForNodes), Name: "nodes", Means: "The nodes that should use the endpoint."},
	}}
}

// serviceSelectorTable is the selector of a service, written as a block.
func serviceSelectorTable(s *topology.ServiceSpec) blocks.Schema {
	return blocks.Schema{Kind: "selector of a service", Attrs: []blocks.Attribute{
		{At: &s.Selector, Name: "match_labels", Means: "The labels of the pods that are its endpoints."},
	}}
}

// servicePortTable is a port of a service.
func servicePortTable(s *topology.ServicePortSpec) blocks.Schema {
	return blocks.Schema{Kind: "service port", Attrs: []blocks.Attribute{
		{At: &s.Port, Name: "port", Means: "The port of the service."},
		{At: blocks.As(&s.TargetPort, "port number or name", (*blocks.Reader).TargetPort), Name: "target_port", Means: "The port of the endpoints; by default the same."},
		{At: &s.Required, Name: "required", Default: `true`, Means: "Whether a selected pod must have the port that target_port names; where none has it, there are no endpoints."},
		{At: &s.NodePort, Name: "node_port", Means: "The port of the nodes; netlab chooses one if it is not set."},
		{At: &s.Protocol, Name: "protocol", Default: `"tcp"`, Means: "The protocol: tcp, udp or sctp."},
		{Name: "app_protocol"},
	}}
}
