package topology

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Origin is the place in a scenario where something was written. Lines and
// columns count from 1; the zero Origin means "not written, a default".
type Origin struct {
	File      string
	Line      int
	Column    int
	EndLine   int
	EndColumn int
}

// SeenFrom describes the place relative to another one, for a sentence.
func (o Origin) SeenFrom(here Origin) string {
	switch {
	case o.Line == 0:
		return "by default"
	case o == here:
		return "by another instance of the block"
	case o.File != here.File:
		return fmt.Sprintf("at %s:%d", o.File, o.Line)
	default:
		return fmt.Sprintf("on line %d", o.Line)
	}
}

// Opt is an attribute that the scenario may leave out, with the place where it
// was written. With an Origin but not Set it was written and has no usable value,
// and that was reported when it was read: nothing more is reported about it.
type Opt[T any] struct {
	Value  T
	Set    bool
	Origin Origin
}

// Or returns the written value, or def when the attribute was left out.
func (o Opt[T]) Or(def T) T {
	if o.Set {
		return o.Value
	}
	return def
}

// Spec is a lab as written. Every element carries its Origin; nothing is
// defaulted and names are not yet resolved.
type Spec struct {
	Name        string // the scenario's base name
	Description Opt[string]
	Network     NetworkSpec
	Proxy       ProxySpec
	DNS         DNSSpec
	Subnets     []SubnetSpec
	Routers     []RouterSpec
	Nodes       []NodeSpec
	Clients     []ClientSpec
	Namespaces  []NamespaceSpec
	Pods        []PodSpec
	Services    []ServiceSpec
	Controller  ControllerSpec
	Ingresses   []IngressSpec
	Gateways    []GatewaySpec
	HTTPRoutes  []HTTPRouteSpec
	Grants      []ReferenceGrantSpec

	PolicyOptions   PoliciesSpec
	Policies        []PolicySpec
	ClusterPolicies []ClusterPolicySpec
}

// NetworkSpec is the network block.
type NetworkSpec struct {
	Mode Opt[string]
	// Families are the IP families that the lab has whatever prefixes are written:
	// ipv4, ipv6 or dual. Not set, they follow from the prefixes.
	Families     Opt[string]
	PodCIDRs     Opt[[]netip.Prefix]
	ServiceCIDRs Opt[[]netip.Prefix]
	NodeCIDRs    Opt[[]netip.Prefix]
	// LoadBalancerCIDRs are the pools of services of type LoadBalancer.
	LoadBalancerCIDRs Opt[[]netip.Prefix]
	// MasqueradeNodeTraffic says whether pods that dial a node other than their own
	// do so with their node's address (the default, as flannel does) or their own.
	MasqueradeNodeTraffic Opt[bool]
	// FlannelLayout is the layout of flannel's rules: FlannelCurrent (default) or FlannelOld.
	FlannelLayout Opt[string]
	// Docker says whether every node has Docker, too, whose bridge no pod is on.
	Docker Opt[bool]

	NodePrefix  Opt[int] // length of a node's share of the IPv4 pod CIDR
	NodePrefix6 Opt[int]
	MTU         Opt[int] // of the link between the nodes, in bytes
	VXLAN       VXLANSpec
	IPIP        IPIPSpec
	BGP         BGPSpec
	Secret      Opt[string] // of a mode that encrypts
	Origin      Origin
}

// VXLANSpec is the block inside network of a mode with a VXLAN tunnel.
type VXLANSpec struct {
	VNI           Opt[int]
	Port          Opt[int]
	DirectRouting Opt[bool]
	Origin        Origin
}

// BGPSpec is a bgp block: of the network, or of a router.
type BGPSpec struct {
	Written    bool
	AS         Opt[int]
	Reflectors Opt[[]string] // nodes; of the network only
	Origin     Origin
}

// IPIPSpec is the block inside network of a mode with an IPIP tunnel.
type IPIPSpec struct {
	Mode Opt[string] // Always (default) or CrossSubnet
}

// Layout is the layout of a mode's rules: other modes have others, and a variation of a matrix
// may choose any mode.
func (p *ProxySpec) Layout(mode string) *Opt[string] {
	if p.Layouts == nil {
		p.Layouts = map[string]*Opt[string]{}
	}
	if p.Layouts[mode] == nil {
		p.Layouts[mode] = new(Opt[string])
	}
	return p.Layouts[mode]
}

// ProxySpec is the proxy block.
type ProxySpec struct {
	Mode          Opt[string]
	MasqueradeAll Opt[bool]
	// DetectLocal says how pod traffic is told from other traffic: "cluster_cidr"
	// (kube-proxy's --cluster-cidr, the default) or "none".
	DetectLocal       Opt[string]
	NodePortMin       Opt[int]
	NodePortMax       Opt[int]
	NodePortAddresses Opt[[]netip.Prefix]
	LocalNodePorts    Opt[bool]               // node ports answer on 127.0.0.1, as kube-proxy's --iptables-localhost-nodeports
	Layouts           map[string]*Opt[string] // of the rules, by the mode that has them
	IPVS              IPVSSpec
	Agent             AgentSpec
	Origin            Origin
}

// IPVSSpec is the block inside proxy of a mode with virtual servers.
type IPVSSpec struct {
	Scheduler Opt[string] // rr (default), wrr, lc, wlc, sh, dh, sed, nq, mh, …
	StrictARP Opt[bool]
	// Addresses says what makes service addresses local to a node: "dummy" (the
	// device kube-ipvs0, default) or "local_routes".
	Addresses Opt[string]
	Origin    Origin
}

// Written says which block an object is of, where that matters: for messages, and for how
// expressions refer to it.
type Written struct {
	Block string // the label of the block
	Key   string // of the instance; "" without count and for_each
	Named Origin // where its name is written; zero: the name follows from the block
}

// NameOf is the name of an object that is not given another one: the label of its block,
// with the key of the instance after a hyphen.
func NameOf(block, key string) string {
	if key == "" {
		return block
	}
	return block + "-" + key
}

// Address is how expressions refer to an object: pod.web, pod.web[0], pod.web["a"].
func Address(kind, block, key string) string {
	switch {
	case key == "":
		return kind + "." + block
	case strings.Trim(key, "0123456789") == "":
		return kind + "." + block + "[" + key + "]"
	default:
		return fmt.Sprintf("%s.%s[%q]", kind, block, key)
	}
}

// NodeSpec is a node block.
type NodeSpec struct {
	Name    string
	Written Written
	Labels  map[string]string
	Zone    Opt[string] // else the label topology.kubernetes.io/zone
	Subnet  Opt[string]
	Address Opt[netip.Addr]
	Key     Opt[string] // private, in base64
	Routes  []RouteSpec
	Link    LinkSpec
	Origin  Origin
}

// LinkSpec is a link block: it shapes the packets that an object sends.
type LinkSpec struct {
	Delay  Opt[time.Duration]
	Jitter Opt[time.Duration]
	Loss   Opt[float64] // share of the packets, from 0 to 1
	Rate   Opt[uint64]  // bits per second
	MTU    Opt[int]
	Origin Origin
}

// ClientSpec is a client block: a host outside the cluster.
type ClientSpec struct {
	Name    string
	Written Written
	Subnet  Opt[string]
	Address Opt[netip.Addr]
	Gateway Opt[netip.Addr] // default route; the underlay's own address when left out
	Routes  []RouteSpec
	Ports   []PortSpec
	Link    LinkSpec
	Origin  Origin
}

// SubnetSpec is a subnet block: a link of the underlay besides node_cidr.
type SubnetSpec struct {
	Name    string
	Written Written
	CIDRs   Opt[[]netip.Prefix]
	MTU     Opt[int]
	Origin  Origin
}

// RouterSpec is a router block.
type RouterSpec struct {
	Name        string
	Written     Written
	Links       []RouterLinkSpec
	Routes      []RouteSpec
	Drops       []DropSpec
	ReversePath Opt[bool]
	BGP         BGPSpec
	Origin      Origin
}

// RouterLinkSpec is a link block of a router.
type RouterLinkSpec struct {
	Name    string
	Subnet  Opt[string]
	Address Opt[netip.Addr]
	Link    LinkSpec
	Origin  Origin
}

// DropSpec is a drop block of a router.
type DropSpec struct {
	Protocol Opt[string]
	Port     Opt[int]
	From, To Opt[[]netip.Prefix]
	Origin   Origin
}

// RouteSpec is one extra route of a node, client or router.
type RouteSpec struct {
	To     netip.Prefix
	Via    netip.Addr
	Origin Origin
}

// NamespaceSpec is a Kubernetes namespace.
type NamespaceSpec struct {
	Name    string
	Written Written
	Labels  map[string]string
	Origin  Origin
}

// PodSpec is one pod: one instance where the block has count or for_each.
type PodSpec struct {
	Block       string      // the label of the block
	Key         string      // the instance's key; "" without count and for_each
	Index       int         // the instance's place among its siblings, from 0
	Named       Opt[string] // the name, if it does not follow from the block
	Node        Opt[string]
	Namespace   Opt[string]
	Address     Opt[netip.Addr]
	Labels      map[string]string
	HostNetwork Opt[bool]
	Ready       Opt[bool]
	Terminating Opt[bool]
	Hostname    Opt[string]
	Subdomain   Opt[string]
	DNSPolicy   Opt[string]
	DNSConfig   DNSConfigSpec
	Workload    Opt[string] // a kind, or a kind, a slash and a name
	Ports       []PortSpec
	Command     []string
	Env         map[string]string
	Program     ProgramSpec
	Link        LinkSpec
	Origin      Origin
}

// Name is the pod's name.
func (p PodSpec) Name() string { return p.Named.Or(NameOf(p.Block, p.Key)) }

// PortSpec is a named port on which an agent listens.
type PortSpec struct {
	Name     string
	Port     Opt[int]
	Protocol Opt[string]
	HostPort Opt[int] // of pods
	Origin   Origin
}

// ServiceSpec is a service block.
type ServiceSpec struct {
	Name                  string
	Written               Written
	Namespace             Opt[string]
	Type                  Opt[string]
	Selector              map[string]string // nil: no selector
	SelectorOrigin        Origin
	ClusterIP             Opt[string]   // an address, or "None"
	ClusterIPs            Opt[[]string] // instead of ClusterIP: one per family
	ExternalTrafficPolicy Opt[string]
	InternalTrafficPolicy Opt[string]

	Labels                   map[string]string
	IPFamilies               Opt[[]string] // IPv4, IPv6
	IPFamilyPolicy           Opt[string]   // SingleStack, PreferDualStack, RequireDualStack
	ExternalIPs              Opt[[]netip.Addr]
	LoadBalancerIPs          Opt[[]netip.Addr] // load_balancer_ip, or ips of load_balancer
	LoadBalancerMode         Opt[string]       // VIP (default) or Proxy
	LoadBalancerVia          Opt[[]string]     // nodes
	LoadBalancerOn           Opt[string]       // the client that is the load balancer
	LoadBalancerCheck        *CheckSpec        // nil: none
	SourceRanges             Opt[[]string]     // as written: Kubernetes trims and ignores some
	HealthCheckNodePort      Opt[int]
	SessionAffinity          Opt[string] // None or ClientIP
	AffinitySeconds          Opt[int]
	TrafficDistribution      Opt[string]
	PublishNotReadyAddresses Opt[bool]
	ExternalName             Opt[string]
	Endpoints                []EndpointSpec

	Ports  []ServicePortSpec
	Origin Origin
}

// CheckSpec is how a load balancer checks the node ports of nodes.
type CheckSpec struct {
	Interval, Timeout  Opt[time.Duration]
	Healthy, Unhealthy Opt[int] // thresholds
	Origin             Origin
}

// EndpointSpec is an endpoint block: an address, or a pod's.
type EndpointSpec struct {
	Address     Opt[netip.Addr]
	Pod         Opt[string] // namespace/name
	Node        Opt[string] // of an address that is not a pod's
	Hostname    Opt[string] // below the name of a headless service
	Port        Opt[int]    // instead of the target port
	PortName    Opt[string] // the service port that it serves; empty: all
	Ready       Opt[bool]
	Serving     Opt[bool]
	Terminating Opt[bool]
	ForZones    Opt[[]string]
	ForNodes    Opt[[]string]
	Weight      Opt[int] // where the proxy has virtual servers; 1
	Origin      Origin
}

// State is that of the endpoint, of a service that publishes addresses of pods that are not ready, or
// does not: what is not written follows from what its pod is, and from the rest.
func (e *EndpointSpec) State(ready, serving, terminating, publish bool) (isReady, isServing, isTerminating bool) {
	terminating = e.Terminating.Or(terminating)
	serving = e.Serving.Or(serving && e.Ready.Or(true))
	return e.Ready.Or(ready && serving) && (!terminating || publish), serving, terminating
}

// ServicePortSpec is one port of a service. TargetPort is a number or a name,
// as text; left out it is Port. Required, which is the default, is whether a selected pod must
// have a port of that name.
type ServicePortSpec struct {
	Name       string
	Port       Opt[int]
	TargetPort Opt[string]
	Required   Opt[bool]
	NodePort   Opt[int]
	Protocol   Opt[string]
	Origin     Origin
}
