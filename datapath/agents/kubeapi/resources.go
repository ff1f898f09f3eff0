package kubeapi

// resource is a kind of object and how it is addressed.
type resource struct {
	group, version string
	name, singular string // pods, pod
	kind           string
	short          []string
	category       string
	namespaced     bool
	fields         []string // on which clients may select, besides name and namespace
	columns        []column
	discardsNew    bool // agents report events, which nobody keeps
}

// resources are all kinds that are served, in the order of discovery.
var resources = []*resource{
	{version: "v1", name: "configmaps", singular: "configmap", kind: "ConfigMap", short: []string{"cm"}, namespaced: true, columns: configColumns},
	{version: "v1", name: "endpoints", singular: "endpoints", kind: "Endpoints", short: []string{"ep"}, namespaced: true, columns: endpointsColumns},
	{version: "v1", name: "events", singular: "event", kind: "Event", short: []string{"ev"}, namespaced: true, discardsNew: true, columns: eventColumns,
		fields: []string{"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"}},
	{version: "v1", name: "namespaces", singular: "namespace", kind: "Namespace", short: []string{"ns"}, columns: namespaceColumns, fields: []string{"status.phase"}},
	{version: "v1", name: "nodes", singular: "node", kind: "Node", short: []string{"no"}, columns: nodeColumns, fields: []string{"spec.unschedulable"}},
	{version: "v1", name: "pods", singular: "pod", kind: "Pod", short: []string{"po"}, category: "all", namespaced: true, columns: podColumns,
		fields: []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"}},
	{version: "v1", name: "serviceaccounts", singular: "serviceaccount", kind: "ServiceAccount", short: []string{"sa"}, namespaced: true, columns: accountColumns},
	{version: "v1", name: "services", singular: "service", kind: "Service", short: []string{"svc"}, category: "all", namespaced: true, columns: serviceColumns, fields: []string{"spec.clusterIP", "spec.type"}},
	{group: "apps", version: "v1", name: "daemonsets", singular: "daemonset", kind: "DaemonSet", short: []string{"ds"}, category: "all", namespaced: true, columns: daemonSetColumns},
	{group: "apps", version: "v1", name: "deployments", singular: "deployment", kind: "Deployment", short: []string{"deploy"}, category: "all", namespaced: true, columns: deploymentColumns},
	{group: "apps", version: "v1", name: "replicasets", singular: "replicaset", kind: "ReplicaSet", short: []string{"rs"}, category: "all", namespaced: true, columns: replicaSetColumns},
	{group: "apps", version: "v1", name: "statefulsets", singular: "statefulset", kind: "StatefulSet", short: []string{"sts"}, category: "all", namespaced: true, columns: statefulSetColumns},
	{group: "batch", version: "v1", name: "jobs", singular: "job", kind: "Job", category: "all", namespaced: true, columns: jobColumns},
	{group: "discovery.k8s.io", version: "v1", name: "endpointslices", singular: "endpointslice", kind: "EndpointSlice", namespaced: true, columns: sliceColumns},
	{group: "events.k8s.io", version: "v1", name: "events", singular: "event", kind: "Event", short: []string{"ev"}, namespaced: true, discardsNew: true, columns: eventColumns},
	{group: "gateway.networking.k8s.io", version: "v1", name: "gatewayclasses", singular: "gatewayclass", kind: "GatewayClass", short: []string{"gc"}, category: "gateway-api", columns: gatewayClassColumns},
	{group: "gateway.networking.k8s.io", version: "v1", name: "gateways", singular: "gateway", kind: "Gateway", short: []string{"gtw"}, category: "gateway-api", namespaced: true, columns: gatewayColumns},
	{group: "gateway.networking.k8s.io", version: "v1", name: "httproutes", singular: "httproute", kind: "HTTPRoute", category: "gateway-api", namespaced: true, columns: routeColumns},
	{group: "gateway.networking.k8s.io", version: "v1", name: "referencegrants", singular: "referencegrant", kind: "ReferenceGrant", short: []string{"refgrant"}, category: "gateway-api", namespaced: true, columns: grantColumns},
	{group: "networking.k8s.io", version: "v1", name: "ingressclasses", singular: "ingressclass", kind: "IngressClass", columns: classColumns},
	{group: "networking.k8s.io", version: "v1", name: "ingresses", singular: "ingress", kind: "Ingress", short: []string{"ing"}, namespaced: true, columns: ingressColumns},
	{group: "networking.k8s.io", version: "v1", name: "networkpolicies", singular: "networkpolicy", kind: "NetworkPolicy", short: []string{"netpol"}, namespaced: true, columns: policyColumns},
	{group: "networking.k8s.io", version: "v1", name: "servicecidrs", singular: "servicecidr", kind: "ServiceCIDR", columns: cidrColumns},
	{group: "policy.networking.k8s.io", version: "v1alpha2", name: "clusternetworkpolicies", singular: "clusternetworkpolicy", kind: "ClusterNetworkPolicy", short: []string{"cnp"}, columns: clusterPolicyColumns},
}

// groupVersion is what objects name as their apiVersion.
func (r *resource) groupVersion() string {
	if r.group == "" {
		return r.version
	}
	return r.group + "/" + r.version
}

// find is the resource of a group and version by its plural name, or nil.
func find(groupVersion, name string) *resource {
	for _, r := range resources {
		if r.groupVersion() == groupVersion && r.name == name {
			return r
		}
	}
	return nil
}
