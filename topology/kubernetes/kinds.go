package kubernetes

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

// kind is a kind of object that is carried over.
type kind struct {
	versions []string
	object   any // a struct of api.go
	cluster  bool
}

const (
	kindCluster  = "ClusterNetworkPolicy"
	kindAdmin    = "AdminNetworkPolicy"
	kindBaseline = "BaselineAdminNetworkPolicy"
)

// kinds are those that are carried over.
var kinds = map[string]kind{
	"Namespace":             {versions: []string{"v1"}, object: plainObject{}, cluster: true},
	"Node":                  {versions: []string{"v1"}, object: nodeObject{}, cluster: true},
	"Pod":                   {versions: []string{"v1"}, object: podObject{}},
	"Deployment":            {versions: []string{"apps/v1"}, object: deployment{}},
	"ReplicaSet":            {versions: []string{"apps/v1"}, object: replicaSet{}},
	"ReplicationController": {versions: []string{"v1"}, object: replicationController{}},
	"StatefulSet":           {versions: []string{"apps/v1"}, object: statefulSet{}},
	"DaemonSet":             {versions: []string{"apps/v1"}, object: daemonSet{}},
	"Job":                   {versions: []string{"batch/v1"}, object: job{}},
	"ConfigMap":             {versions: []string{"v1"}, object: configMap{}},
	"Service":               {versions: []string{"v1"}, object: serviceObject{}},
	"Endpoints":             {versions: []string{"v1"}, object: endpointsObject{}},
	"EndpointSlice":         {versions: []string{"discovery.k8s.io/v1"}, object: endpointSlice{}},
	"NetworkPolicy":         {versions: []string{"networking.k8s.io/v1"}, object: networkPolicy{}},
	"Ingress":               {versions: []string{"networking.k8s.io/v1"}, object: ingressObject{}},
	"Gateway":               {versions: []string{"gateway.networking.k8s.io/v1", "gateway.networking.k8s.io/v1beta1"}, object: gatewayObject{}},
	"ReferenceGrant":        {versions: []string{"gateway.networking.k8s.io/v1beta1", "gateway.networking.k8s.io/v1"}, object: referenceGrant{}},
	"HTTPRoute":             {versions: []string{"gateway.networking.k8s.io/v1", "gateway.networking.k8s.io/v1beta1"}, object: httpRoute{}},
	kindCluster:             {versions: []string{"policy.networking.k8s.io/v1alpha2"}, object: clusterPolicy{}, cluster: true},
	kindAdmin:               {versions: []string{"policy.networking.k8s.io/v1alpha1"}, object: clusterPolicy{}, cluster: true},
	kindBaseline:            {versions: []string{"policy.networking.k8s.io/v1alpha1"}, object: clusterPolicy{}, cluster: true},
}

// without are kinds that have no effect on connections.
var without = []string{
	"ServiceAccount", "Secret", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "PersistentVolume", "PersistentVolumeClaim", "StorageClass",
	"PodDisruptionBudget", "ResourceQuota", "LimitRange", "PriorityClass", "RuntimeClass", "CustomResourceDefinition", "Lease", "Event", "ControllerRevision",
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "APIService", "CSIDriver", "CSINode",
	"VolumeAttachment", "PodTemplate", "CertificateSigningRequest", "FlowSchema", "PriorityLevelConfiguration", "IPAddress", "ServiceCIDR", "ComponentStatus", "IngressClass", "GatewayClass",
}

// reasons say why kinds and fields that matter are not carried over.
var reasons = map[string]string{
	"CronJob":                 "a lab has no clock. Write a Job",
	"HorizontalPodAutoscaler": "a lab has the replicas that the manifests say",
	"Kustomization":           "it is an instruction for kubectl. Import what kubectl kustomize prints",

	"affinity":                  "the nodes take turns. Write node in the pod block, or nodeName",
	"topologySpreadConstraints": "the nodes take turns. Write node in the pod block, or nodeName",
	"hostIP":                    "a host port is published on every address of its node",
	"hostAliases":               "pods have no other hosts in a lab. Connections name clients by reference",
	"TCPRoute":                  "the controller of a lab passes on HTTP. A service of type LoadBalancer passes on TCP",
	"TLSRoute":                  "the controller of a lab ends TLS itself",
	"UDPRoute":                  "the controller of a lab passes on HTTP. A service of type LoadBalancer passes on UDP",
	"GRPCRoute":                 "the controller of a lab speaks HTTP/1.1",
	"matchExpressions":          "listeners of a lab select namespaces by labels and their values",
	"frontendValidation":        "clients of a lab have no certificates",
	"allowedListeners":          "a gateway of a lab has the listeners that it names",
	"tls":                       "clients and endpoints of a lab have no certificates",
	"filters":                   "the controller of a lab applies the filters of a rule to all of its backends. Write them as filters of the rule",
	"requestMirror":             "no claim sees a copy of a request whose response nobody gets",
	"extensionRef":              "what it does is a matter of one controller",
	"cors":                      "it concerns browsers",
	"externalAuth":              "it is experimental in the API",
	"sessionPersistence":        "the controller of a lab chooses an endpoint for each request",
	"namespace":                 "a listener has certificates of its own namespace",
	"resource":                  "backends that are no services are a matter of one controller. Write a service",
}

// tables are the schemas of all structs of the API.
var tables = func() schemas {
	all := schemas{}
	for _, k := range kinds {
		all.add(reflect.TypeOf(k.object))
	}
	return all
}()

// known are the names of all kinds.
func known() []string {
	return slices.Concat(slices.Collect(maps.Keys(kinds)), without, []string{"List"})
}

// fieldsOf is how manifests write what messages call by the words of scenarios. Of two words that
// begin alike the longer comes first.
var fieldsOf = strings.NewReplacer(
	"subject { namespace_selector = {} }", "subject: { namespaces: {} }",
	"from { namespace_selector = {} }", "from: [{ namespaces: {} }]",
	"to { namespace_selector = {} }", "to: [{ namespaces: {} }]",
	`Write port "http" { … }`, "Write name: http below it", `port "http" { port = 80 }`, "ports: [{ port: 80 }]",
	"path { service = service.NAME }", "http: { paths: [{ path: /, pathType: Prefix, backend: … }] }", "backend { service = service.NAME }", "backendRefs: [{ name: … }]",
	"service = service.NAME", "service: { name: … }", "rule { … }", "rules", "default_backend { … }", "defaultBackend", "http_route", "HTTPRoute",
	"namespace_selector = {}", "namespaceSelector: {}", "namespace_selector", "namespaceSelector",
	"pod_selector = {}", "podSelector: {}", "pod_selector", "podSelector",
	`ip_block { cidr = "…" }`, "ipBlock: { cidr: … }", "ip_block", "ipBlock",
	"values = [", "values: [", "port = ", "port: ", "key = ", "key: ", "operator = ", "operator: ",
	"tier = ", "tier: ", "priority = ", "priority: ", "action = ", "action: ", "type = ", "type: ",
	"end_port", "endPort", "policy_types", "policyTypes", "path_type = ", "pathType: ", "path_type", "pathType",
	"external_name = ", "externalName: ", "external_name", "externalName", "external_ips", "externalIPs",
	"external_traffic_policy", "externalTrafficPolicy", "internal_traffic_policy", "internalTrafficPolicy",
	"cluster_ips", "clusterIPs", "cluster_ip", "clusterIP", "ip_families", "ipFamilies", "ip_family_policy", "ipFamilyPolicy",
	"target_port", "targetPort", "node_port_range", "node_port_range", "health_check_node_port", "healthCheckNodePort", "node_port", "nodePort", "host_port", "hostPort",
	"load_balancer_source_ranges", "loadBalancerSourceRanges", "traffic_distribution", "trafficDistribution",
	"session_affinity", "sessionAffinity", "default_backend", "defaultBackend",
)

// InFields are problems that name the fields of objects where they are about manifests, instead of
// the attributes of blocks.
func (o *Objects) InFields(all topology.Problems) topology.Problems {
	for i := range all {
		if o.files[all[i].Origin.File] {
			all[i].Detail = fieldsOf.Replace(all[i].Detail)
		}
	}
	return all
}
