package kubernetes

import "github.com/netlab/netlab/topology"

// What objects of the Kubernetes API hold, as far as it matters. Names that no field is for are
// known, but have no effect on connections.

type (
	str     = topology.Opt[string]
	integer = topology.Opt[int]
	flag    = topology.Opt[bool]
)

// header is what every object has.
type header struct {
	APIVersion str  `k:"apiVersion"`
	Kind       str  `k:"kind"`
	Meta       meta `k:"metadata"`
	Origin     topology.Origin
	lost       []Lost
	order      int // among all objects
}

// object is a pointer to one of the structs below.
type object interface{ top() *header }

func (h *header) top() *header { return h }

type meta struct {
	Name              str               `k:"name"`
	Namespace         str               `k:"namespace"`
	GenerateName      str               `k:"generateName"`
	Labels            map[string]string `k:"labels"`
	Annotations       entries           `k:"annotations" of:"Ingress Service"`
	DeletionTimestamp str               `k:"deletionTimestamp"`
	Owners            []owner           `k:"ownerReferences"`
	_                 struct{}          `k:"annotations creationTimestamp deletionGracePeriodSeconds finalizers generation managedFields resourceVersion selfLink uid"`
}

type owner struct {
	Kind str      `k:"kind"`
	Name str      `k:"name"`
	_    struct{} `k:"apiVersion blockOwnerDeletion controller uid"`
}

type nodeObject struct {
	header
	Spec struct {
		PodCIDRs      []str    `k:"podCIDRs"`
		Taints        []taint  `k:"taints"`
		Unschedulable flag     `k:"unschedulable"`
		_             struct{} `k:"configSource externalID podCIDR providerID"`
	} `k:"spec"`
	Status struct {
		Addresses []struct {
			Address str `k:"address"`
			Type    str `k:"type"`
		} `k:"addresses"`
		_ struct{} `k:"allocatable capacity conditions config daemonEndpoints declaredFeatures features images nodeInfo phase runtimeHandlers volumesAttached volumesInUse"`
	} `k:"status"`
}

type plainObject struct { // a namespace
	header
	_ struct{} `k:"spec status"`
}

type podObject struct {
	header
	Spec   podSpec `k:"spec"`
	Status struct {
		Phase      str           `k:"phase"`
		IP         str           `k:"podIP"`
		Conditions []conditionOf `k:"conditions"`
		_          struct{}      `k:"allocatedResources containerStatuses ephemeralContainerStatuses extendedResourceClaimStatus hostIP hostIPs initContainerStatuses message nominatedNodeName nodeAllocatableResourceClaimStatuses observedGeneration podIPs qosClass reason resize resourceClaimStatuses resources startTime"`
	} `k:"status"`
}

type conditionOf struct {
	Type   str      `k:"type"`
	Status str      `k:"status"`
	_      struct{} `k:"lastProbeTime lastTransitionTime message observedGeneration reason"`
}

type podSpec struct {
	NodeName       str               `k:"nodeName"`
	NodeSelector   map[string]string `k:"nodeSelector"`
	HostNetwork    flag              `k:"hostNetwork"`
	Hostname       str               `k:"hostname"`
	Subdomain      str               `k:"subdomain"`
	DNSPolicy      str               `k:"dnsPolicy"`
	DNSConfig      *dnsConfig        `k:"dnsConfig"`
	Containers     []container       `k:"containers"`
	InitContainers []container       `k:"initContainers"`
	Tolerations    []toleration      `k:"tolerations"`
	Volumes        []volume          `k:"volumes"`
	Origin         topology.Origin
	_              struct{} `k:"activeDeadlineSeconds automountServiceAccountToken enableServiceLinks ephemeralContainers hostIPC hostPID hostUsers hostnameOverride imagePullSecrets os overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace terminationGracePeriodSeconds workloadRef schedulingGroup"`
	_              struct{} `lost:"affinity hostAliases topologySpreadConstraints"`
}

type dnsConfig struct {
	Nameservers []str `k:"nameservers"`
	Searches    []str `k:"searches"`
	Options     []struct {
		Name   str `k:"name"`
		Value  str `k:"value"`
		Origin topology.Origin
	} `k:"options"`
	Origin topology.Origin
}

type container struct {
	Ports []struct {
		Name     str     `k:"name"`
		Port     integer `k:"containerPort"`
		Protocol str     `k:"protocol"`
		HostPort integer `k:"hostPort"`
		Origin   topology.Origin
		_        struct{} `lost:"hostIP"`
	} `k:"ports"`
	Restart str     `k:"restartPolicy"`
	Mounts  []mount `k:"volumeMounts"`
	EnvFrom []struct {
		ConfigMap *configSource `k:"configMapRef"`
		Origin    topology.Origin
		_         struct{} `k:"prefix secretRef"`
	} `k:"envFrom"`
	Env []struct {
		From struct {
			ConfigMap *configSource `k:"configMapKeyRef"`
			_         struct{}      `k:"fieldRef fileKeyRef resourceFieldRef secretKeyRef"`
		} `k:"valueFrom"`
		_ struct{} `k:"name value"`
	} `k:"env"`
	_ struct{} `k:"args command image imagePullPolicy lifecycle livenessProbe name readinessProbe resizePolicy resources restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices workingDir"`
}

// mount is where a container sees a volume.
type mount struct {
	Name    str `k:"name"`
	Path    str `k:"mountPath"`
	SubPath str `k:"subPath"`

	SubPathExpr str `k:"subPathExpr"`
	Origin      topology.Origin
	_           struct{} `k:"mountPropagation readOnly recursiveReadOnly"`
}

// volume is files of a pod: of a ConfigMap, of several sources, or others, which an agent does
// not have.
type volume struct {
	Name      str           `k:"name"`
	ConfigMap *configVolume `k:"configMap"`
	Projected *struct {
		DefaultMode permissions `k:"defaultMode"`
		Sources     []struct {
			ConfigMap *configVolume `k:"configMap"`
			_         struct{}      `k:"clusterTrustBundle downwardAPI podCertificate secret serviceAccountToken"`
		} `k:"sources"`
	} `k:"projected"`
	Origin topology.Origin
	_      struct{} `k:"awsElasticBlockStore azureDisk azureFile cephfs cinder csi downwardAPI emptyDir ephemeral fc flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi nfs persistentVolumeClaim photonPersistentDisk portworxVolume quobyte rbd scaleIO secret storageos vsphereVolume"`
}

// configVolume is a ConfigMap as files.
type configVolume struct {
	Name        str         `k:"name"`
	DefaultMode permissions `k:"defaultMode"`
	Optional    flag        `k:"optional"`
	Items       []struct {
		Key    str         `k:"key"`
		Path   str         `k:"path"`
		Mode   permissions `k:"mode"`
		Origin topology.Origin
	} `k:"items"`
	Origin topology.Origin
}

// configSource is a ConfigMap as environment variables.
type configSource struct {
	Name   str `k:"name"`
	Origin topology.Origin
	_      struct{} `k:"key optional"`
}

type configMap struct {
	header
	Data   entries  `k:"data"`
	Binary entries  `k:"binaryData"`
	_      struct{} `k:"immutable"`
}

// entries are the strings of an object, each where it is written.
type entries map[string]str

// scaled is what the workloads have in common.
type scaled struct {
	Replicas integer   `k:"replicas"`
	Selector *selector `k:"selector"`
	Template template  `k:"template"`
	_        struct{}  `k:"minReadySeconds revisionHistoryLimit"`
}

type template struct {
	Meta   meta    `k:"metadata"`
	Spec   podSpec `k:"spec"`
	Origin topology.Origin
}

type deployment struct {
	header
	Spec struct {
		scaled
		_ struct{} `k:"paused progressDeadlineSeconds strategy"`
	} `k:"spec"`
	_ struct{} `k:"status"`
}

type replicaSet struct {
	header
	Spec scaled   `k:"spec"`
	_    struct{} `k:"status"`
}

type statefulSet struct {
	header
	Spec struct {
		scaled
		Ordinals struct {
			Start integer `k:"start"`
		} `k:"ordinals"`
		Claims  []plainObject `k:"volumeClaimTemplates"`
		Service str           `k:"serviceName"`
		_       struct{}      `k:"persistentVolumeClaimRetentionPolicy podManagementPolicy updateStrategy"`
	} `k:"spec"`
	_ struct{} `k:"status"`
}

type daemonSet struct {
	header
	Spec struct {
		scaled
		_ struct{} `k:"updateStrategy"`
	} `k:"spec"`
	_ struct{} `k:"status"`
}

type job struct {
	header
	Spec struct {
		scaled
		Parallelism integer  `k:"parallelism"`
		Completions integer  `k:"completions"`
		_           struct{} `k:"activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode managedBy manualSelector maxFailedIndexes podFailurePolicy podReplacementPolicy successPolicy ttlSecondsAfterFinished"`
		Suspend     flag     `k:"suspend"`
	} `k:"spec"`
	Status struct {
		Conditions []conditionOf `k:"conditions"`
		_          struct{}      `k:"active completedIndexes completionTime failed failedIndexes ready startTime succeeded terminating uncountedTerminatedPods"`
	} `k:"status"`
}

// replicationController is what ReplicaSets were before.
type replicationController struct {
	header
	Spec struct {
		Replicas integer           `k:"replicas"`
		Selector map[string]string `k:"selector"`
		Template template          `k:"template"`
		_        struct{}          `k:"minReadySeconds"`
	} `k:"spec"`
	_ struct{} `k:"status"`
}

type serviceObject struct {
	header
	Spec struct {
		Type                  str               `k:"type"`
		Selector              map[string]string `k:"selector"`
		ClusterIP             str               `k:"clusterIP"`
		ClusterIPs            []str             `k:"clusterIPs"`
		ExternalIPs           []str             `k:"externalIPs"`
		ExternalName          str               `k:"externalName"`
		ExternalTrafficPolicy str               `k:"externalTrafficPolicy"`
		InternalTrafficPolicy str               `k:"internalTrafficPolicy"`
		IPFamilies            []str             `k:"ipFamilies"`
		IPFamilyPolicy        str               `k:"ipFamilyPolicy"`
		LoadBalancerIP        str               `k:"loadBalancerIP"`
		SourceRanges          []str             `k:"loadBalancerSourceRanges"`
		HealthCheckNodePort   integer           `k:"healthCheckNodePort"`
		SessionAffinity       str               `k:"sessionAffinity"`
		AffinityConfig        struct {
			ClientIP struct {
				Seconds integer `k:"timeoutSeconds"`
			} `k:"clientIP"`
		} `k:"sessionAffinityConfig"`
		TrafficDistribution str  `k:"trafficDistribution"`
		PublishNotReady     flag `k:"publishNotReadyAddresses"`
		Ports               []struct {
			Name       str     `k:"name"`
			Port       integer `k:"port"`
			TargetPort number  `k:"targetPort"`
			NodePort   integer `k:"nodePort"`
			Protocol   str     `k:"protocol"`
			Origin     topology.Origin
			_          struct{} `k:"appProtocol"`
		} `k:"ports"`
		Origin topology.Origin
		_      struct{} `k:"loadBalancerClass"`

		AllocateNodePorts flag `k:"allocateLoadBalancerNodePorts"`
	} `k:"spec"`
	Status struct {
		LoadBalancer struct {
			Ingress []struct {
				IP     str      `k:"ip"`
				IPMode str      `k:"ipMode"`
				_      struct{} `k:"hostname ports"`
			} `k:"ingress"`
		} `k:"loadBalancer"`
		_ struct{} `k:"conditions"`
	} `k:"status"`
}

// reference is what an endpoint stands for.
type reference struct {
	Kind      str      `k:"kind"`
	Name      str      `k:"name"`
	Namespace str      `k:"namespace"`
	_         struct{} `k:"apiVersion fieldPath resourceVersion uid"`
}

type endpointPort struct {
	Name str      `k:"name"`
	Port integer  `k:"port"`
	_    struct{} `k:"appProtocol protocol"`
}

type endpointsObject struct {
	header
	Subsets []struct {
		Addresses []endpointAddress `k:"addresses"`
		NotReady  []endpointAddress `k:"notReadyAddresses"`
		Ports     []endpointPort    `k:"ports"`
	} `k:"subsets"`
}

type endpointAddress struct {
	IP       str        `k:"ip"`
	Hostname str        `k:"hostname"`
	Node     str        `k:"nodeName"`
	Target   *reference `k:"targetRef"`
	Origin   topology.Origin
}

type endpointSlice struct {
	header
	Endpoints []struct {
		Addresses  []str `k:"addresses"`
		Conditions struct {
			Ready       flag `k:"ready"`
			Serving     flag `k:"serving"`
			Terminating flag `k:"terminating"`
		} `k:"conditions"`
		Hints struct {
			ForZones []named `k:"forZones"`
			ForNodes []named `k:"forNodes"`
		} `k:"hints"`
		Hostname str        `k:"hostname"`
		Node     str        `k:"nodeName"`
		Target   *reference `k:"targetRef"`
		Origin   topology.Origin
		_        struct{} `k:"deprecatedTopology zone"`
	} `k:"endpoints"`
	Ports []endpointPort `k:"ports"`
	Type  str            `k:"addressType"`
}

type named struct {
	Name str `k:"name"`
}

type selector struct {
	MatchLabels map[string]string `k:"matchLabels"`
	Expressions []struct {
		Key      str   `k:"key"`
		Operator str   `k:"operator"`
		Values   []str `k:"values"`
		Origin   topology.Origin
	} `k:"matchExpressions"`
	Origin topology.Origin
	_      struct{} `hint:"Write labels below matchLabels."`
}

type networkPolicy struct {
	header
	Spec struct {
		PodSelector *selector     `k:"podSelector"`
		PolicyTypes []str         `k:"policyTypes"`
		Ingress     []ingressRule `k:"ingress"`
		Egress      []egressRule  `k:"egress"`
		Origin      topology.Origin
	} `k:"spec"`
	_ struct{} `k:"status"`
}

type policyRule struct {
	Ports  []policyPort `k:"ports"`
	Origin topology.Origin
}

type ingressRule struct {
	policyRule
	From []policyPeer `k:"from"`
	_    struct{}     `hint:"Write from: an ingress rule says where connections come from."`
}

type egressRule struct {
	policyRule
	To []policyPeer `k:"to"`
	_  struct{}     `hint:"Write to: an egress rule says where connections go to."`
}

type policyPeer struct {
	PodSelector       *selector `k:"podSelector"`
	NamespaceSelector *selector `k:"namespaceSelector"`
	IPBlock           *struct {
		CIDR   str   `k:"cidr"`
		Except []str `k:"except"`
		Origin topology.Origin
	} `k:"ipBlock"`
	Origin topology.Origin
}

type policyPort struct {
	Port     number  `k:"port"`
	EndPort  integer `k:"endPort"`
	Protocol str     `k:"protocol"`
	Origin   topology.Origin
}

type ingressObject struct {
	header
	Spec struct {
		Class   str             `k:"ingressClassName"`
		Default *ingressBackend `k:"defaultBackend"`
		Rules   []struct {
			Host str `k:"host"`
			HTTP struct {
				Paths []struct {
					Path    str             `k:"path"`
					Type    str             `k:"pathType"`
					Backend *ingressBackend `k:"backend"`
					Origin  topology.Origin
				} `k:"paths"`
			} `k:"http"`
			Origin topology.Origin
		} `k:"rules"`
		TLS []struct {
			Hosts  []str `k:"hosts"`
			Secret str   `k:"secretName"`
			Origin topology.Origin
		} `k:"tls"`
	} `k:"spec"`
	_ struct{} `k:"status"`
}

type ingressBackend struct {
	Service *struct {
		Name str `k:"name"`
		Port struct {
			Number integer `k:"number"`
			Name   str     `k:"name"`
		} `k:"port"`
		Origin topology.Origin
	} `k:"service"`
	Origin topology.Origin
	_      struct{} `lost:"resource"`
}

type httpRoute struct {
	header
	Spec struct {
		Parents []struct {
			Name      str     `k:"name"`
			Namespace str     `k:"namespace"`
			Section   str     `k:"sectionName"`
			Port      integer `k:"port"`
			Kind      str     `k:"kind"`
			Origin    topology.Origin
			_         struct{} `k:"group"`
		} `k:"parentRefs"`
		Hostnames []str `k:"hostnames"`
		Rules     []struct {
			Matches []struct {
				Path struct {
					Type  str `k:"type"`
					Value str `k:"value"`
				} `k:"path"`
				Method  str          `k:"method"`
				Headers []valueMatch `k:"headers"`
				Query   []valueMatch `k:"queryParams"`
				Origin  topology.Origin
			} `k:"matches"`
			Filters  []httpFilter `k:"filters"`
			Backends []struct {
				Name      str     `k:"name"`
				Port      integer `k:"port"`
				Weight    integer `k:"weight"`
				Namespace str     `k:"namespace"`
				Origin    topology.Origin
				_         struct{} `k:"group kind"`
				_         struct{} `lost:"filters"`
			} `k:"backendRefs"`
			Origin topology.Origin
			_      struct{} `k:"name timeouts retry"`
			_      struct{} `lost:"sessionPersistence"`
		} `k:"rules"`
		_ struct{} `k:"useDefaultGateways"`
	} `k:"spec"`
	_ struct{} `k:"status"`
}

type referenceGrant struct {
	header
	Spec struct {
		From []struct {
			Kind      str      `k:"kind"`
			Namespace str      `k:"namespace"`
			_         struct{} `k:"group"`
		} `k:"from"`
		To []struct {
			Kind str      `k:"kind"`
			Name str      `k:"name"`
			_    struct{} `k:"group"`
		} `k:"to"`
	} `k:"spec"`
}

type valueMatch struct {
	Type   str `k:"type"`
	Name   str `k:"name"`
	Value  str `k:"value"`
	Origin topology.Origin
}

type gatewayObject struct {
	header
	Spec struct {
		Class     str `k:"gatewayClassName"`
		Listeners []struct {
			Name     str     `k:"name"`
			Hostname str     `k:"hostname"`
			Port     integer `k:"port"`
			Protocol str     `k:"protocol"`
			TLS      *struct {
				Mode         str `k:"mode"`
				Certificates []struct {
					Name str      `k:"name"`
					_    struct{} `k:"group kind"`
					_    struct{} `lost:"namespace"`
				} `k:"certificateRefs"`
				_ struct{} `k:"options"`
				_ struct{} `lost:"frontendValidation"`
			} `k:"tls"`
			Allowed struct {
				Namespaces struct {
					From     str `k:"from"`
					Selector *struct {
						MatchLabels map[string]string `k:"matchLabels"`
						_           struct{}          `lost:"matchExpressions"`
					} `k:"selector"`
				} `k:"namespaces"`
				_ struct{} `k:"kinds"`
			} `k:"allowedRoutes"`
			Origin topology.Origin
			_      struct{} `lost:"filters"`
		} `k:"listeners"`
		_ struct{} `k:"addresses infrastructure defaultScope"`
		_ struct{} `lost:"allowedListeners tls"`
	} `k:"spec"`
	_ struct{} `k:"status"`
}

// httpFilter is a change of requests or responses.
type httpFilter struct {
	Type     str           `k:"type"`
	Request  *headerFilter `k:"requestHeaderModifier"`
	Response *headerFilter `k:"responseHeaderModifier"`
	Redirect *struct {
		Scheme   str         `k:"scheme"`
		Hostname str         `k:"hostname"`
		Port     integer     `k:"port"`
		Path     *pathFilter `k:"path"`
		Status   integer     `k:"statusCode"`
		Origin   topology.Origin
	} `k:"requestRedirect"`
	Rewrite *struct {
		Hostname str         `k:"hostname"`
		Path     *pathFilter `k:"path"`
		Origin   topology.Origin
	} `k:"urlRewrite"`
	Origin topology.Origin
	_      struct{} `lost:"requestMirror extensionRef cors externalAuth"`
}

type headerFilter struct {
	Set    []headerField `k:"set"`
	Add    []headerField `k:"add"`
	Remove []str         `k:"remove"`
	Origin topology.Origin
}

type headerField struct {
	Name   str `k:"name"`
	Value  str `k:"value"`
	Origin topology.Origin
}

type pathFilter struct {
	Type   str   `k:"type"`
	Full   given `k:"replaceFullPath"`
	Prefix given `k:"replacePrefixMatch"`
	Origin topology.Origin
}

// clusterPolicy is a ClusterNetworkPolicy, or one of the two kinds that were there before it.
type clusterPolicy struct {
	header
	Spec struct {
		Tier     str              `k:"tier" of:"ClusterNetworkPolicy"`
		Priority integer          `k:"priority" of:"ClusterNetworkPolicy AdminNetworkPolicy"`
		Subject  *clusterPeer     `k:"subject"`
		Ingress  []clusterIngress `k:"ingress"`
		Egress   []clusterEgress  `k:"egress"`
	} `k:"spec"`
	_ struct{} `k:"status"`
}

type clusterRule struct {
	Name      str               `k:"name"`
	Action    str               `k:"action"`
	Ports     []clusterPort     `k:"ports" of:"AdminNetworkPolicy BaselineAdminNetworkPolicy"`
	Protocols []clusterProtocol `k:"protocols" of:"ClusterNetworkPolicy"`
	Origin    topology.Origin
}

type clusterIngress struct {
	clusterRule
	From []clusterPeer `k:"from"`
	_    struct{}      `hint:"An ingress rule has from, and protocols, which in AdminNetworkPolicies are ports."`
}

type clusterEgress struct {
	clusterRule
	To []clusterPeer `k:"to"`
	_  struct{}      `hint:"An egress rule has to, and protocols, which in AdminNetworkPolicies are ports."`
}

type clusterPeer struct {
	Namespaces *selector `k:"namespaces"`
	Pods       *struct {
		NamespaceSelector *selector `k:"namespaceSelector"`
		PodSelector       *selector `k:"podSelector"`
		Origin            topology.Origin
	} `k:"pods"`
	Networks []str     `k:"networks"`
	Nodes    *selector `k:"nodes"`
	Domains  []str     `k:"domainNames"`
	Origin   topology.Origin
}

type clusterPort struct {
	Number *struct {
		Port     integer `k:"port"`
		Protocol str     `k:"protocol"`
	} `k:"portNumber"`
	Range *struct {
		Start    integer `k:"start"`
		End      integer `k:"end"`
		Protocol str     `k:"protocol"`
	} `k:"portRange"`
	Named  str `k:"namedPort"`
	Origin topology.Origin
}

type clusterProtocol struct {
	TCP    *destination `k:"tcp"`
	UDP    *destination `k:"udp"`
	SCTP   *destination `k:"sctp"`
	Named  str          `k:"destinationNamedPort"`
	Origin topology.Origin
}

type destination struct {
	Port *struct {
		Number integer `k:"number"`
		Range  *struct {
			Start integer `k:"start"`
			End   integer `k:"end"`
		} `k:"range"`
		Origin topology.Origin
	} `k:"destinationPort"`
}
