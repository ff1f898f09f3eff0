package kubernetes

import (
	"maps"
	"reflect"
	"slices"
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
